"""CIFAR-10 and CIFAR-100 in torchvision's layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sifu.data.dataset import Images, Split, array_split
from sifu.data.vision import torchvision
from sifu.errors import DataError


def cifar10(name: str, root: Path, *, verify: bool, download: bool) -> Images:
    return _load("CIFAR10", root, download)


def cifar100(name: str, root: Path, *, verify: bool, download: bool) -> Images:
    return _load("CIFAR100", root, download)


def _load(class_name: str, root: Path, download: bool) -> Images:
    """torchvision verifies the checksums itself, always."""
    return Images(_split(class_name, root, True, download), _split(class_name, root, False, download))


def _split(class_name: str, root: Path, train: bool, download: bool) -> Split:
    try:
        data = getattr(torchvision().datasets, class_name)(root, train=train, download=download)
    except RuntimeError as error:
        raise DataError(f"{class_name} under {root}: {error}") from None
    return array_split(np.ascontiguousarray(data.data.transpose(0, 3, 1, 2)), np.asarray(data.targets, np.int64))
