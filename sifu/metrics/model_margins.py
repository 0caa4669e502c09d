"""Margins of many models on many examples (sifu/forgetting/margin.py), as they are stored."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sifu.forgetting.margin import margin_tensor, stored_margin
from sifu.models.flat import FlatModel

_AT_ONCE = 5000  # images that a network answers together: memory


@torch.no_grad()
def model_margins(
    model: FlatModel, weights: Tensor, images: Tensor, labels: Tensor
) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    """phi of models [S, P] on `images` [n, ...] with right classes `labels` [n], and what they say. [S, n] each"""
    margins, predicted = [], []
    for row in weights.to(images.device):
        logits = torch.cat([model.logits(row, part).float() for part in images.split(_AT_ONCE)])  # [n, classes]
        margins.append(margin_tensor(logits, labels))
        predicted.append(logits.argmax(1).to(torch.uint8))
    return stored_margin(torch.stack(margins)).cpu().numpy(), torch.stack(predicted).cpu().numpy()
