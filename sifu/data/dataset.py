"""A dataset in memory: all labels, and pixels that are decoded only for the examples that clients hold."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sifu.catalog.datasets import DATASETS, resolve_source
from sifu.catalog.lookup import resolve
from sifu.config.scenario import Dataset
from sifu.errors import DataError
from sifu.store.lock import open_lock

Labels = NDArray[np.int64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Split:
    """The examples of a train or test set."""

    labels: Labels  # [N]
    pixels: Callable[[NDArray[np.int64]], Pixels]  # rows [k] -> [k, C, H, W]
    groups: Labels | None = None  # [N] whose example it is: a writer, an identity


@dataclass(frozen=True)
class Images:
    """A dataset: train examples, and test examples where the source has any."""

    train: Split
    test: Split | None

    def counts(self) -> dict[str, int]:
        """How many images there are to train and to test on, and of how many people where they are known."""
        people = {} if self.train.groups is None else {"people": len(np.unique(self.train.groups))}
        return {"train": len(self.train.labels), "test": len(self.test.labels) if self.test else 0} | people


def load_images(dataset: Dataset, root: Path, *, download: bool = False) -> Images:
    """The dataset of a scenario. Whatever else than images and labels of its spec is refused."""
    source = resolve_source(dataset.name, dataset.source, root, download=download)
    loader = resolve(DATASETS[dataset.name].sources[source].loader)
    with _download_lock(root) if download else nullcontext():
        images: Images = loader(dataset.name, root, check_files=dataset.verify, download=download)
    if not isinstance(images, Images):
        raise DataError(f"dataset {dataset.name}: its loader gives {_kind(images)}, not Images(train, test)")
    for name, split in (("train", images.train), ("test", images.test)):
        if split is not None or name == "train":
            _check_split(split, dataset.name, name)
    return images


@contextmanager
def _download_lock(root: Path) -> Iterator[None]:
    """Only one job downloads at a time; the next one finds its files."""
    root.mkdir(parents=True, exist_ok=True)
    with open_lock(root / ".download.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check_split(split: object, dataset: str, name: str) -> None:
    """Refuse what a loader from outside may give: other objects, labels or images than those of a split."""
    if not isinstance(split, Split):
        words = "not a Split: make it with array_split"
        raise DataError(f"dataset {dataset}: the {name} set is {_kind(split)}, {words}")
    _check_whole(split.labels, f"dataset {dataset}: the labels of the {name} set")
    _check_labels(split.labels, dataset, name)
    if split.groups is not None:
        _check_whole(split.groups, f"dataset {dataset}: the groups of the {name} set")
        if len(split.groups) != len(split.labels):
            counts = f"{len(split.labels)} labels but {len(split.groups)} groups"
            raise DataError(f"dataset {dataset}: the {name} set has {counts}")
    _check_image(split, dataset, name)


def _check_whole(values: object, what: str) -> None:
    """Refuse anything but a list of whole numbers [N]."""
    array = _array(values, what)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"{what} are {array.dtype} of shape {array.shape}, not whole numbers of shape [N]")


def _array(values: object, what: str) -> NDArray[Any]:
    if not isinstance(values, np.ndarray):
        raise DataError(f"{what} are of type {type(values).__name__}, not an array of NumPy")
    return values


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _check_image(split: Split, dataset: str, name: str) -> None:
    """Refuse images of another shape or type than the dataset's; the first one tells."""
    what, shape = f"dataset {dataset}: the images of the {name} set", DATASETS[dataset].shape
    image = _array(split.pixels(np.zeros(1, np.int64)), what)  # [1, C, H, W]
    if image.shape != (1, *shape):
        raise DataError(f"{what} are {image.shape[1:]}, its DatasetSpec says {shape}")
    if image.dtype != np.uint8:
        raise DataError(f"{what} are {image.dtype}, not uint8: bytes from 0 to 255")


def _check_labels(labels: Labels, dataset: str, split: str) -> None:
    num_classes = DATASETS[dataset].num_classes
    if len(labels) == 0:
        raise DataError(f"dataset {dataset}: the {split} set is empty")
    bad = np.flatnonzero((labels < 0) | (labels >= num_classes))
    if len(bad):
        raise DataError(
            f"dataset {dataset}: label {labels[bad[0]]} in row {bad[0]} of the {split} set; "
            f"allowed: 0 to {num_classes - 1}"
        )


def array_split(pixels: Pixels, labels: Labels, groups: Labels | None = None) -> Split:
    """A split whose pixels [N, C, H, W] are already decoded."""
    if len(_array(pixels, "images")) != len(labels):
        raise DataError(f"{len(pixels)} images but {len(labels)} labels")
    return Split(labels, lambda rows: pixels[rows], groups)
