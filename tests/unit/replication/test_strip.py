"""The verdict strip: only a run with one of the paper's datasets has claims."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sifu.errors import StoreError
from sifu.replication.claims.claim import Line
from sifu.replication.claims.verdict import Verdict
from sifu.replication.strip import _cells, claim_rows
from tests.small_replication import PLAIN, World


def test_a_run_without_the_papers_datasets_has_no_strip(tmp_path: Path) -> None:
    assert claim_rows(tmp_path, {"mnist_embedded": "MNIST (5,000 digits)"}) == []


def test_blocks_of_an_older_run_do_not_count(tmp_path: Path) -> None:
    """The same seeds once more, in blocks of another size: without a plan nobody could say which rows are meant."""
    folder = World(("mnist",), marks=PLAIN).write(tmp_path)
    planned = set(folder.rglob("*.parquet"))
    wanted = claim_rows(folder, {"mnist": "MNIST"}, planned)
    for path in sorted(folder.glob("unlearn/mnist/*/*/cells.parquet")):
        shutil.copytree(path.parent, path.parent.with_name("s000-099"))
    with pytest.raises(StoreError, match=r"s000-099/cells\.parquet"):
        claim_rows(folder, {"mnist": "MNIST"})
    assert claim_rows(folder, {"mnist": "MNIST"}, planned) == wanted
    assert {row.cells["MNIST"] for row in wanted} > {"not run"}


def test_of_several_numbers_the_least_favourable_counts() -> None:
    """MNIST holds by one number and fails by another; CIFAR-10 was not run; CelebA is not planned.

    The claim does not speak of CIFAR-100.
    """
    lines = [
        Line("mnist", "rounds", None, Verdict.HOLDS),
        Line("mnist", "accuracy", None, Verdict.FAILS),
        Line("fashionmnist", "rounds", None, Verdict.HOLDS),
        Line("mnist", "only shown", None),
        Line("cifar10", "rounds", None, Verdict.NOT_RUN),
        Line("cifar100", "only shown", None),
    ]
    titles = {"mnist": "MNIST", "fashionmnist": "FashionMNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
    assert _cells(lines, titles) == {
        "MNIST": "does not hold",
        "FashionMNIST": "holds",
        "CIFAR-10": "not run",
        "CIFAR-100": "not part of the claim",
    }
