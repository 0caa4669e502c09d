"""The verdict strip: only a run with one of the paper's datasets has claims."""

from __future__ import annotations

from pathlib import Path

from sifu.replication.claims.claim import Line
from sifu.replication.claims.verdict import Verdict
from sifu.replication.strip import _cells, claim_rows


def test_a_run_without_the_papers_datasets_has_no_strip(tmp_path: Path) -> None:
    assert claim_rows(tmp_path, {"mnist_embedded": "MNIST (5,000 digits)"}) == []


def test_of_several_numbers_the_least_favourable_counts() -> None:
    """MNIST holds by one number and fails by another; CIFAR-10 was not run; CelebA is not planned."""
    lines = [
        Line("mnist", "rounds", None, Verdict.HOLDS),
        Line("mnist", "accuracy", None, Verdict.FAILS),
        Line("fashionmnist", "rounds", None, Verdict.HOLDS),
        Line("mnist", "only shown", None),
    ]
    titles = {"mnist": "MNIST", "fashionmnist": "FashionMNIST", "cifar10": "CIFAR-10"}
    assert _cells(lines, titles) == {"MNIST": "does not hold", "FashionMNIST": "holds", "CIFAR-10": "not run"}
