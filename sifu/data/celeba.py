"""CelebA in torchvision's layout: one celebrity per client, the label Smiling, images of 64 x 64 (LEAF's task)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sifu.data.dataset import Images, Pixels, Split
from sifu.data.decode import decode_image
from sifu.data.vision import torchvision, without_checksums
from sifu.errors import DataError

_SIDE = 64


def load(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    return Images(_split(root, "train", check_files, download), _split(root, "test", check_files, download))


def _split(root: Path, split: str, check_files: bool, download: bool) -> Split:
    data = _open(root, split, check_files, download)
    if "Smiling" not in data.attr_names:
        raise DataError(f"{root}/celeba/list_attr_celeba.txt has no attribute Smiling")
    labels = data.attr[:, data.attr_names.index("Smiling")].numpy().astype(np.int64)
    folder = root / "celeba" / "img_align_celeba"
    return Split(
        labels, lambda rows: _decode(folder, data.filename, rows), data.identity[:, 0].numpy().astype(np.int64)
    )


def _open(root: Path, split: str, check_files: bool, download: bool):  # type: ignore[no-untyped-def]  # torchvision has no types
    """torchvision's dataset object; without `check_files` it skips its checksums."""
    original = torchvision().datasets.CelebA
    dataset = original if check_files else without_checksums(original)
    try:
        return dataset(root, split=split, target_type=["attr", "identity"], download=download)
    except (RuntimeError, OSError, ValueError, IndexError) as error:
        raise DataError(f"CelebA under {root}/celeba cannot be read: {error}") from None


def _decode(folder: Path, names: list[str], rows: NDArray[np.int64]) -> Pixels:
    pixels = np.empty((len(rows), 3, _SIDE, _SIDE), np.uint8)
    for place, row in enumerate(rows):
        path = folder / names[row]
        pixels[place] = decode_image(path, 3, str(path), _SIDE)
    return pixels
