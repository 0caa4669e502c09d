"""How much of each dataset a run used: from the stamps of its trainings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from sifu.catalog.datasets import DATASETS
from sifu.errors import StoreError
from sifu.store.parquet import read_stamp

_PARTS = ("embedded", "subset")  # sources that never hold a whole dataset


class DataUsed(NamedTuple):
    """A dataset as a training had it."""

    dataset: str
    source: str
    images: dict[str, int]  # train, test, people (where they are known); empty in tables that do not say so

    @staticmethod
    def of(path: Path) -> DataUsed:
        """By the stamp of a training's table."""
        stamp = read_stamp(path)
        try:
            settings, notes = (json.loads(stamp.get(key) or "{}") for key in ("settings", "notes"))
            dataset, images = settings.get("dataset", {}), notes.get("images", {})
            counts = {str(name): int(count) for name, count in images.items()}
            if not all(0 <= count < 2**40 for count in counts.values()):
                raise ValueError(counts)
            return DataUsed(str(dataset.get("name", "")), str(dataset.get("source", "")), counts)
        except (AttributeError, TypeError, ValueError, OverflowError, RecursionError):
            raise StoreError(f"{path} does not say which data it was made of") from None

    @property
    def is_part(self) -> bool:
        """Whether images are missing; of a dataset whose size nobody knows, whether its source says so."""
        if self._whole is None:
            return self.source == "subset"
        if not self.images:
            return self.source in _PARTS
        found = [self.images.get(name, 0) for name in ("train", "test")]
        return any(count < whole for count, whole in zip(found, self._whole, strict=True))

    @property
    def _whole(self) -> tuple[int, int] | None:
        return DATASETS[self.dataset].whole if self.dataset in DATASETS else None

    @property
    def label(self) -> str:
        """What people call the dataset."""
        return (DATASETS[self.dataset].label if self.dataset in DATASETS else None) or self.dataset

    def words(self) -> str:
        """How many images there were, of how many, and where they came from."""
        if not self.images:
            return f"number of images not known (source {self.source})"
        train, test = (f"{self.images.get(name, 0):,}" for name in ("train", "test"))
        if self._whole is not None:
            train, test = (f"{count} of {whole:,}" for count, whole in zip((train, test), self._whole, strict=True))
        people = f"; {self.images['people']:,} people in the training images" if "people" in self.images else ""
        return f"{train} training and {test} test images{people} (source {self.source})"


def data_used(paths: Iterable[Path]) -> dict[str, DataUsed]:
    """Each dataset of some trainings, by name, from the first table that has it."""
    found: dict[str, DataUsed] = {}
    for path in paths:
        used = DataUsed.of(path)
        found.setdefault(used.dataset, used)
    return found


def parts_in_words(used: Mapping[str, DataUsed]) -> str:
    """Sentences on the datasets of which a part was used; nothing where all were whole."""
    named: dict[str, list[str]] = {}
    for data in used.values():
        if data.is_part:
            named.setdefault(data.words(), []).append(data.label)
    if not named:
        return ""
    sentences = [f"{', '.join(names)}: {words}." for words, names in named.items()]
    return " ".join(["Only a part of some datasets was used.", *sentences])
