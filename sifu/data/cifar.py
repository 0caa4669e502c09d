"""CIFAR-10 and CIFAR-100 in torchvision's layout, which is pickled: read without an unpickler (batch_file.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sifu.data.batch_file import read_batch
from sifu.data.checksum import check_checksum
from sifu.data.dataset import Images, Labels, Pixels, Split, array_split
from sifu.data.vision import torchvision
from sifu.errors import DataError

_MAX_BYTES = 2**28  # CIFAR-100's largest file is 155 MB


class _Layout(NamedTuple):
    """torchvision's class, its folder, its files and the key of its labels."""

    name: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    labels: str


_CIFAR10 = _Layout(
    "CIFAR10", "cifar-10-batches-py", tuple(f"data_batch_{i}" for i in range(1, 6)), ("test_batch",), "labels"
)
_CIFAR100 = _Layout("CIFAR100", "cifar-100-python", ("train",), ("test",), "fine_labels")


def cifar10(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    return _load(_CIFAR10, root, check_files, download)


def cifar100(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    return _load(_CIFAR100, root, check_files, download)


def _load(layout: _Layout, root: Path, check_files: bool, download: bool) -> Images:
    if download and not (root / layout.folder).exists():
        _download(layout.name, root)
    try:
        return Images(_split(layout, root, layout.train, check_files), _split(layout, root, layout.test, check_files))
    except OSError as error:
        raise DataError(f"{layout.name} under {root}: {error}") from None


def _download(name: str, root: Path) -> None:
    """The archive, checked and unpacked by torchvision's helper: its dataset class would unpickle it."""
    datasets = torchvision().datasets
    kind = getattr(datasets, name)
    try:
        datasets.utils.download_and_extract_archive(kind.url, root, filename=kind.filename, md5=kind.tgz_md5)
    except (RuntimeError, OSError) as error:
        raise DataError(f"{name} could not be downloaded to {root}: {error}") from None


def _split(layout: _Layout, root: Path, files: tuple[str, ...], check_files: bool) -> Split:
    pixels, labels = [], []
    for file in files:
        relative = f"{layout.folder}/{file}"
        if check_files:
            check_checksum(root, relative)
        try:
            batch = read_batch(_bytes(root / relative))
            pixels.append(_pixels(batch.get("data")))
            labels.append(_labels(batch.get(layout.labels)))
        except DataError as error:
            raise DataError(f"{layout.name} under {root}: {file}: {error}") from None
    return array_split(np.concatenate(pixels), np.concatenate(labels))


def _bytes(path: Path) -> bytes:
    if not path.is_file() or path.stat().st_size > _MAX_BYTES:
        raise DataError(f"it is not a file of at most {_MAX_BYTES >> 20} MiB")
    return path.read_bytes()


def _pixels(data: Any) -> Pixels:
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.shape[1] != 3072:
        raise DataError("it does not hold rows of 3072 bytes")
    return data.reshape(-1, 3, 32, 32)


def _labels(values: Any) -> Labels:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise DataError("its labels are not a list of whole numbers")
    return np.array(values, np.int64)
