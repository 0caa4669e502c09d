"""The margin of an example, phi = log p_y / (1 - p_y): how sure a model is of the right label, without an upper limit.

LiRA (Carlini et al. 2022), KLOM (Georgiev et al. 2024) and RULI (Naderloui et al. 2025) use this one quantity. It is
computed from logits: a probability near 1 has lost it to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sifu.errors import SifuError
from sifu.forgetting.sample import Flags, Floats, Ints

if TYPE_CHECKING:
    from torch import Tensor

_DECILE = 10
_FLOAT16 = 65504.0  # its largest number


def margin(logits: ArrayLike, labels: ArrayLike) -> Floats:
    """phi = z_y - logsumexp of z_j over j != y; logits [..., classes] and labels [...] -> [...] float64."""
    values, right = np.asarray(logits, np.float64), np.asarray(labels, np.int64)[..., None]
    if values.shape[-1] < 2:
        raise SifuError(f"a margin needs at least 2 classes, and there are {values.shape[-1]}")
    own = np.take_along_axis(values, right, -1)[..., 0]
    others = values.copy()
    np.put_along_axis(others, right, -np.inf, -1)
    highest = others.max(-1)
    return own - highest - np.log(np.exp(others - highest[..., None]).sum(-1))


def margin_tensor(logits: Tensor, labels: Tensor) -> Tensor:
    """As `margin`, on any device, in the logits' precision; logits [..., classes] and labels [...] -> [...]."""
    right = labels[..., None]
    others = logits.scatter(-1, right, float("-inf"))
    return logits.gather(-1, right)[..., 0] - others.logsumexp(-1)


def stored_margin(margins: Tensor) -> Tensor:
    """Margins as they are kept, in float16; what is beyond its range is at its end, and NaN stays NaN."""
    return margins.clamp(-_FLOAT16, _FLOAT16).half()


def client_margins(margins: ArrayLike, owners: ArrayLike, clients: ArrayLike) -> Floats:
    """T_c, the mean margin over a client's own examples; margins [N, P], owners [P], clients [C] -> [N, C]."""
    owned = _owned(np.asarray(owners), np.asarray(clients))  # [C, P]
    return np.stack([_rows(margins, own).mean(1) for own in owned], axis=1)


def lowest_margins(margins: ArrayLike, owners: ArrayLike, clients: ArrayLike) -> Floats:
    """The mean of a client's lowest tenth of margins, at least one, in each model; [N, P], [P], [C] -> [N, C]."""
    columns = []
    for own in _owned(np.asarray(owners), np.asarray(clients)):
        count = -(-int(own.sum()) // _DECILE)
        columns.append(np.sort(_rows(margins, own), axis=1)[:, :count].mean(1))
    return np.stack(columns, axis=1)


def _rows(margins: ArrayLike, points: Flags) -> Floats:
    """Some points of every model, a row each: its sum has the same bits whatever other models there are. [N, points]"""
    return np.ascontiguousarray(np.asarray(margins)[:, points], np.float64)


def _owned(owners: Ints, clients: Ints) -> Flags:
    """Which points each client holds. [C, P] bool"""
    own = np.atleast_1d(clients)[:, None] == owners
    empty = np.atleast_1d(clients)[~own.any(1)]
    if len(empty):
        raise SifuError(f"client {empty[0]} has no points among the margins")
    return own
