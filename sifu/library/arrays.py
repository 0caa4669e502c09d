"""Arrays that a user gives, checked: whatever is wrong is one sentence that names the client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sifu.config.fields import one_of
from sifu.data.scaling import scale_images
from sifu.errors import ConfigError, DataError

Array = NDArray[np.generic] | Tensor  # one axis is that of the examples, the first
PerChannel = float | Sequence[float]  # one number, or one for each channel
SCALES = ("standard", "unit")
_AXES = "[n, channels, height, width], [n, height, width] or [n, features]"


@dataclass(frozen=True)
class ImageFormat:
    """What every image is, and how it becomes what the model sees."""

    shape: tuple[int, ...]  # of one image: (channels, height, width) or (features,)
    is_bytes: bool  # pixels from 0 to 255; else numbers that are taken as they are
    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale: str

    @staticmethod
    def of(images: Array, name: str, mean: PerChannel, std: PerChannel, scale: str) -> ImageFormat:
        """The format of `images`, which all others must have, too; `name` is what messages call them."""
        found, allowed = _with_channels(_tensor(images, name), name), one_of(SCALES)
        if not allowed.test(scale):
            raise ConfigError("scale", scale, allowed.text, allowed.hint(scale))
        shape = tuple(found.shape[1:])
        means, stds = _per_channel(mean, "mean", shape[0]), _per_channel(std, "std", shape[0])
        if not min(stds) > 0:
            raise ConfigError("std", std, "above 0")
        return ImageFormat(shape, found.dtype == torch.uint8, means, stds, scale)

    def prepare(self, images: Array, name: str) -> Tensor:
        """Images as the model sees them, float32. [n, *shape]"""
        found = _with_channels(_tensor(images, name), name)
        if not len(found):
            raise DataError(f"{name} are empty: at least one is needed")
        if tuple(found.shape[1:]) != self.shape:
            raise DataError(f"{name} have the shape {list(found.shape[1:])}, the first client's {list(self.shape)}")
        if (found.dtype == torch.uint8) != self.is_bytes:
            raise DataError(f"{name} are {_type(found)}, the first client's are not: give all in the same type")
        scaled = scale_images(found, self.mean, self.std, self.scale)
        wrong = torch.nonzero(~scaled.flatten(1).isfinite().all(1)).flatten()
        if len(wrong):
            raise DataError(f"{name} hold NaN or infinite values, the first in place {int(wrong[0])}")
        return scaled


def class_labels(labels: Array, count: int, name: str) -> Tensor:
    """The classes of `count` images. [n] int64"""
    found = _tensor(labels, name)
    if found.dim() != 1 or found.is_floating_point() or found.dtype == torch.bool:
        raise DataError(f"{name} are {_type(found)} {list(found.shape)}: give a whole number for each image, [n]")
    if len(found) != count:
        raise DataError(f"{name} are {len(found)}, but there are {count} images")
    return found.long()


def refuse_labels(labels: Tensor, num_classes: int, name: str) -> None:
    """Refuse classes that are not 0 to num_classes - 1."""
    wrong = labels[(labels < 0) | (labels >= num_classes)]
    if len(wrong):
        raise DataError(f"{name} hold {int(wrong[0])}; allowed: 0 to {num_classes - 1}")


def refuse_no_list(arrays: object, name: str) -> None:
    """Refuse one array where a list with an array for each client is needed: its rows would be taken for clients."""
    if not isinstance(arrays, list | tuple):
        shape = f" of shape {list(arrays.shape)}" if isinstance(arrays, np.ndarray | Tensor) else ""
        raise DataError(f"{name} must be a list with an array for each client, not {type(arrays).__name__}{shape}")


def _tensor(values: object, name: str) -> Tensor:
    """An array as a tensor on the CPU; one that holds no numbers is refused."""
    if isinstance(values, Tensor):
        return values.detach().cpu()
    try:
        array = np.array(values)  # a copy: torch warns of arrays that cannot be written to
    except ValueError:
        raise DataError(f"{name} are not one array: their rows differ in length") from None
    if array.dtype.kind not in "buif":
        raise DataError(f"{name} are {array.dtype}: give numbers, as a NumPy array or a torch tensor")
    return torch.from_numpy(array.astype(_torch_type(array.dtype), copy=False))


def _torch_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The nearest type that torch has: in this machine's order of bytes, and no longer than it knows."""
    if dtype.kind == "u" and dtype.itemsize > 1:
        return np.dtype(np.int64)
    if dtype.kind == "f" and dtype.itemsize > 8:
        return np.dtype(np.float64)
    return dtype.newbyteorder("=")


def _with_channels(images: Tensor, name: str) -> Tensor:
    """Images of bytes or floating numbers, with an axis of channels; features stay as they are."""
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise DataError(f"{name} are {_type(images)}: give bytes from 0 to 255 (uint8), or floating numbers")
    if images.dim() not in (2, 3, 4):
        raise DataError(f"{name} have the shape {list(images.shape)}; allowed: {_AXES}")
    return images.unsqueeze(1) if images.dim() == 3 else images


def _per_channel(values: PerChannel, key: str, channels: int) -> tuple[float, ...]:
    try:
        found = tuple(float(value) for value in np.atleast_1d(np.asarray(values, dtype=float)))
    except (TypeError, ValueError):
        raise ConfigError(key, values, "a number, or one for each channel") from None
    if len(found) not in (1, channels) or not np.isfinite(found).all():
        raise ConfigError(key, values, f"a number, or one for each of {channels} channels")
    return found


def _type(values: Tensor) -> str:
    return str(values.dtype).removeprefix("torch.")
