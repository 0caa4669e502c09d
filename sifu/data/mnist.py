"""MNIST and Fashion-MNIST in torchvision's layout, and MNIST by writer with QMNIST's label files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sifu.catalog.datasets import DATASETS, missing_files
from sifu.data.dataset import Images, Split, array_split
from sifu.data.idx import read_idx
from sifu.data.vision import torchvision
from sifu.data.whole import whole_numbers
from sifu.errors import DataError

_WRITER_COLUMN = 2  # of QMNIST's table: digit, series, writer, ...


def mnist(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    return _load(name, "MNIST", root, check_files=check_files, download=download)


def fashionmnist(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    return _load(name, "FashionMNIST", root, check_files=check_files, download=download)


def by_writer(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    """MNIST with the writer of each digit as its group (Yadav and Bottou 2019)."""
    images = mnist(name, root, check_files=check_files, download=download)
    assert images.test is not None
    return Images(
        _with_writers(images.train, root, "train", check_files), _with_writers(images.test, root, "test", check_files)
    )


def _load(name: str, folder: str, root: Path, *, check_files: bool, download: bool) -> Images:
    if download and missing_files(name, "torchvision", root):
        _download(DATASETS[name].groups is not None, folder, root)
    return Images(_split(root, f"{folder}/raw/train", check_files), _split(root, f"{folder}/raw/t10k", check_files))


def _download(with_writers: bool, folder: str, root: Path) -> None:
    datasets = torchvision().datasets
    try:
        getattr(datasets, folder)(root, download=True)
        if with_writers:
            for train in (True, False):
                datasets.QMNIST(root, train=train, compat=False, download=True)
    except (RuntimeError, OSError) as error:
        raise DataError(f"{folder} could not be downloaded to {root}: {error}") from None


def _split(root: Path, prefix: str, check_files: bool) -> Split:
    pixels = read_idx(root, f"{prefix}-images-idx3-ubyte.gz", check_files=check_files)  # [N, H, W]
    labels = read_idx(root, f"{prefix}-labels-idx1-ubyte.gz", check_files=check_files)  # [N]
    if labels.ndim != 1:
        raise DataError(f"{root / prefix}-labels: values of shape {labels.shape}; expected [N]")
    if pixels.ndim != 3 or pixels.shape[1:] != (28, 28) or pixels.dtype != np.uint8:
        raise DataError(
            f"{root / prefix}-images: {pixels.dtype} values of shape {pixels.shape}; expected bytes of [N, 28, 28]"
        )
    if len(labels) != len(pixels):  # before labels become larger numbers
        raise DataError(f"{root / prefix}: {len(pixels)} images but {len(labels)} labels")
    return array_split(pixels[:, None], whole_numbers(labels, "label", f"{root / prefix}-labels"))


def _with_writers(split: Split, root: Path, part: str, check_files: bool) -> Split:
    path = f"QMNIST/raw/qmnist-{part}-labels-idx2-int.gz"
    table = read_idx(root, path, check_files=check_files)  # [N', 8], N' >= N
    count = len(split.labels)
    if table.ndim != 2 or table.shape[1] != 8:
        raise DataError(f"{root / path} holds {table.shape}; expected a table of 8 columns")
    digits = whole_numbers(table[:count, 0], "digit", str(root / path))
    if not np.array_equal(digits, split.labels):
        raise DataError(f"{root / path} does not describe the MNIST {part} set in {root}: their digits differ")
    writers = whole_numbers(table[:count, _WRITER_COLUMN], "writer", str(root / path))
    return Split(split.labels, split.pixels, writers)
