"""Margins: how surely models give the right answer on each of many examples.

phi = z_y - log of the sum of exp(z_j) over j != y = log p_y / (1 - p_y), from the logits z. Above 0 the right class has
more than half of the probability. Float16 keeps three digits: far finer than the spread over trainings.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sifu.models.flat import FlatModel

_LIMIT = 60_000.0  # float16 ends at 65,504
_AT_ONCE = 5000  # images that a network answers together: memory


def margin(logits: Tensor, labels: Tensor) -> Tensor:
    """phi of answers `logits` [..., n, classes] with right classes `labels` [n]. [..., n]"""
    index = labels.expand(logits.shape[:-1]).unsqueeze(-1)
    others = logits.scatter(-1, index, -torch.inf).logsumexp(-1)
    return logits.gather(-1, index).squeeze(-1) - others


@torch.no_grad()
def margins(model: FlatModel, weights: Tensor, images: Tensor, labels: Tensor) -> NDArray[np.float16]:
    """phi of models [S, P] on `images` [n, ...]; a model that is not finite has 0 everywhere. [S, n]"""
    rows = []
    for row in weights.to(images.device):
        pairs = zip(images.split(_AT_ONCE), labels.split(_AT_ONCE), strict=True)
        rows.append(torch.cat([margin(model.logits(row, part).float(), known) for part, known in pairs]))
    found = torch.stack(rows).nan_to_num(0.0, _LIMIT, -_LIMIT).clamp(-_LIMIT, _LIMIT)
    return found.half().cpu().numpy()
