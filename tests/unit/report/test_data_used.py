"""How much of a dataset was used: counted where the tables say so, by the source where they do not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sifu.errors import StoreError
from sifu.report.data_used import DataUsed, data_used, parts_in_words
from tests.small_replication import BLOCK, write_training


@pytest.mark.parametrize(
    ("used", "part"),
    [
        (DataUsed("cifar10", "parquet", {"train": 15_000, "test": 2_000}), True),
        (DataUsed("cifar10", "parquet", {"train": 50_000, "test": 10_000}), False),  # a Parquet file may hold all
        (DataUsed("cifar10", "torchvision", {}), False),
        (DataUsed("celeba", "subset", {}), True),
        (DataUsed("mnist", "embedded", {}), True),
        (DataUsed("digits_of_another_package", "embedded", {"train": 5, "test": 0}), False),  # nobody knows the whole
    ],
)
def test_a_part_is_less_than_the_whole(used: DataUsed, part: bool) -> None:
    assert used.is_part is part


def test_words_on_parts(tmp_path: Path) -> None:
    """Datasets with the same words share a sentence; a whole one has none."""
    for name in ("cifar10", "cifar100"):
        write_training(tmp_path, name, "parquet", {"train": 15_000, "test": 2_000})
    write_training(tmp_path, "mnist", "torchvision", {"train": 60_000, "test": 10_000})
    write_training(tmp_path, "celeba", "subset", {"train": 4_560, "test": 0, "people": 152})
    used = data_used(sorted(tmp_path.glob(f"train/*/{BLOCK}/cells.parquet")))
    assert parts_in_words(used).split(". ") == [
        "Only a part of some datasets was used",
        "CelebA: 4,560 of 162,770 training and 0 of 19,962 test images; 152 people in the training images (source "
        "subset)",
        "CIFAR-10, CIFAR-100: 15,000 of 50,000 training and 2,000 of 10,000 test images (source parquet).",
    ]
    assert parts_in_words({"mnist": used["mnist"]}) == ""


@pytest.mark.parametrize("count", [math.inf, -1, 10**4000])
def test_counts_that_cannot_be_are_refused(tmp_path: Path, count: float) -> None:
    write_training(tmp_path, "celeba", "subset", {"train": count})  # type: ignore[dict-item]
    with pytest.raises(StoreError, match="does not say which data it was made of"):
        data_used(tmp_path.glob("train/*/*/cells.parquet"))


def test_a_table_without_counts_is_no_error(tmp_path: Path) -> None:
    write_training(tmp_path, "celeba", "subset", {})
    (used,) = data_used(tmp_path.glob("train/*/*/cells.parquet")).values()
    assert used.words() == "number of images not known (source subset)"
