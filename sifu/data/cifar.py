"""CIFAR-10 and CIFAR-100 in torchvision's layout, which is pickled: read by an unpickler that can only build arrays."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sifu.data.checksum import check_checksum
from sifu.data.dataset import Images, Split, array_split
from sifu.data.vision import torchvision
from sifu.errors import DataError


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
    except (
        OSError,
        EOFError,
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
        pickle.UnpicklingError,
    ) as error:
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
        with (root / relative).open("rb") as stream:
            batch = _ArraysOnly(stream, encoding="latin1").load()
        pixels.append(_pixels(batch["data"], root / relative))
        labels.append(np.asarray(batch[layout.labels], np.int64))
    return array_split(np.concatenate(pixels), np.concatenate(labels))


def _pixels(data: Any, path: Path) -> np.ndarray:
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
        raise DataError(f"{path} does not hold rows of 3072 bytes")
    return data.reshape(-1, 3, 32, 32)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles numbers, strings, lists, mappings and arrays; any other class is refused and not imported."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return _empty_array
        raise pickle.UnpicklingError(f"it names {module}.{name}, which has no place in images")


def _empty_array(kind: type, *_: object) -> np.ndarray:
    """The empty array that NumPy fills from the pickled state."""
    if kind is not np.ndarray:
        raise pickle.UnpicklingError(f"it holds a {kind}, not an array")
    return np.empty(0, np.uint8)
