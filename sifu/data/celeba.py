"""CelebA in torchvision's layout: one celebrity per client, the label Smiling, images of 64 x 64 (LEAF's task)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sifu.data.dataset import Images, Pixels, Split
from sifu.data.decode import read_image
from sifu.data.vision import torchvision, without_checksums
from sifu.errors import DataError, cut

_SIDE = 64


def load(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    """All of CelebA."""
    dataset = torchvision().datasets.CelebA
    if not check_files:
        dataset = without_checksums(dataset)
    return Images(*(_split(_open(dataset, root, split, download), root) for split in ("train", "test")))


def load_subset(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    """Some persons of CelebA, in the same layout under `celeba_subset`."""
    dataset = without_checksums(torchvision().datasets.CelebA)
    dataset.base_folder = "celeba_subset"  # type: ignore[attr-defined]
    return Images(*(_split(_open(dataset, root, split, download=False), root) for split in ("train", "test")))


def _open(dataset: Any, root: Path, split: str, download: bool) -> Any:
    for path in (root / dataset.base_folder).glob("*.txt"):
        if not path.is_file():  # a pipe would wait for ever
            raise DataError(f"{path} is not a file")
    try:
        return dataset(root, split=split, target_type=["attr", "identity"], download=download)
    except (RuntimeError, OSError, ValueError, TypeError, LookupError, OverflowError) as error:
        raise DataError(
            f"CelebA under {root / dataset.base_folder} cannot be read: {error} (a subset, or files of another origin, "
            "belong in a folder `celeba_subset`: their checksums are not compared)"
        ) from None


def _split(data: Any, root: Path) -> Split:
    folder = root / data.base_folder
    if "Smiling" not in data.attr_names:
        raise DataError(f"{folder}/list_attr_celeba.txt has no attribute Smiling")
    labels = data.attr[:, data.attr_names.index("Smiling")].numpy().astype(np.int64)
    images, names = folder / "img_align_celeba", data.filename
    outside = next((name for name in names if "/" in name), None)
    if outside is not None:
        raise DataError(f"{folder}/list_attr_celeba.txt names an image in another folder: {cut(repr(outside), 120)}")
    return Split(labels, lambda rows: _decode(images, names, rows), data.identity[:, 0].numpy().astype(np.int64))


def _decode(folder: Path, names: list[str], rows: NDArray[np.int64]) -> Pixels:
    pixels = np.empty((len(rows), 3, _SIDE, _SIDE), np.uint8)
    for place, row in enumerate(rows):
        pixels[place] = read_image(folder / names[row], (3, _SIDE, _SIDE))
    return pixels
