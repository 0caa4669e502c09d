"""From pixels to the numbers that a model sees."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_SMALLEST = torch.finfo(torch.float32).tiny


def scale_images(images: Tensor, mean: Sequence[float], std: Sequence[float], scale: str) -> Tensor:
    """Images [n, channels, ...] as float32. Bytes are first divided by 255, other numbers are taken as they are.

    `standard`: minus `mean`, divided by `std`, each one number or one a channel. `unit`: each image divided by its
    norm, so that neither of the two matters.
    """
    is_bytes, images = images.dtype == torch.uint8, images.float()
    others = [1] * (images.dim() - 2)
    if scale == "unit":
        shortest = 1.0 if is_bytes else _SMALLEST  # a black image stays black
        return images / images.flatten(1).norm(dim=1).clamp(min=shortest).view(-1, 1, *others)
    means, stds = (torch.tensor(values).view(-1, *others) for values in (mean, std))
    return ((images / 255 if is_bytes else images) - means) / stds
