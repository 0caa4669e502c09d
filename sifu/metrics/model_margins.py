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
def model_margins(model: FlatModel, weights: Tensor, images: Tensor, labels: Tensor) -> NDArray[np.float16]:
    """phi of models [S, P] on `images` [n, ...] with right classes `labels` [n]. [S, n]"""
    rows = []
    for row in weights.to(images.device):
        pairs = zip(images.split(_AT_ONCE), labels.split(_AT_ONCE), strict=True)
        rows.append(torch.cat([margin_tensor(model.logits(row, part).float(), known) for part, known in pairs]))
    return stored_margin(torch.stack(rows)).cpu().numpy()
