"""Margins of many models on many examples (sifu/forgetting/margin.py), as float16: far finer than their spread."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sifu.forgetting.margin import margin_tensor
from sifu.models.flat import FlatModel

_LIMIT = 60_000.0  # float16 ends at 65,504
_AT_ONCE = 5000  # images that a network answers together: memory


@torch.no_grad()
def model_margins(model: FlatModel, weights: Tensor, images: Tensor, labels: Tensor) -> NDArray[np.float16]:
    """phi of models [S, P] on `images` [n, ...] with right classes `labels` [n]; NaN counts as 0. [S, n]"""
    rows = []
    for row in weights.to(images.device):
        pairs = zip(images.split(_AT_ONCE), labels.split(_AT_ONCE), strict=True)
        rows.append(torch.cat([margin_tensor(model.logits(row, part).float(), known) for part, known in pairs]))
    found = torch.stack(rows).nan_to_num(0.0, _LIMIT, -_LIMIT).clamp(-_LIMIT, _LIMIT)
    return found.half().cpu().numpy()
