"""CIFAR-10 and CIFAR-100 in torchvision's layout."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from sifu.data.dataset import Images, Split, array_split
from sifu.data.vision import torchvision, unverified
from sifu.errors import DataError


def cifar10(name: str, root: Path, *, verify: bool, download: bool) -> Images:
    return _load("CIFAR10", root, verify, download)


def cifar100(name: str, root: Path, *, verify: bool, download: bool) -> Images:
    return _load("CIFAR100", root, verify, download)


def _load(class_name: str, root: Path, verify: bool, download: bool) -> Images:
    train, test = (_split(class_name, root, part, verify, download) for part in (True, False))
    return Images(train, test)


def _split(class_name: str, root: Path, train: bool, verify: bool, download: bool) -> Split:
    base = getattr(torchvision().datasets, class_name)
    try:
        data = (base if verify else unverified(base))(root, train=train, download=download)
    except (RuntimeError, OSError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise DataError(f"{class_name} under {root}: {error}") from None
    return array_split(np.ascontiguousarray(data.data.transpose(0, 3, 1, 2)), np.asarray(data.targets, np.int64))
