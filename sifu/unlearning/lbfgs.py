"""L-BFGS in compact form (Byrd, Nocedal and Schnabel 1994): the product of an estimated Hessian matrix and a vector.

From pairs (s_j, y_j), a difference of models and that of their gradients, with S = [s_1 ... s_k], Y = [y_1 ... y_k]:

    B v = c v - [c S, Y] [[c S'S, L], [L', -D]]^-1 [c S'v; Y'v],    c = (s_k . y_k) / (s_k . s_k),

L the part of S'Y below its diagonal and D its diagonal. B s_k = y_k; earlier pairs do not hold exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.hardware.upload import upload


def difference(one: Tensor, other: Tensor) -> Tensor:
    """one - other [S, P]; 0 in seeds where it is no more than rounding, of which no curvature can be learned."""
    away = one - other
    rounding = 10 * torch.finfo(one.dtype).eps * one.norm(dim=1, keepdim=True)  # [S, 1]
    return away.where(away.norm(dim=1, keepdim=True) > rounding, 0.0)


def hessian_product(steps: Tensor, changes: Tensor, vector: Tensor) -> Tensor:
    """B v for pairs `steps`, `changes` [q, k, P], the oldest first, and `vector` [q, P]. [q, P]

    A step of zeros is no pair; without any B is 0. Where a curvature s_j . y_j is not positive, B v = c v.
    """
    s, y, v = steps.double(), changes.double(), vector.double()
    squares, products = _inner(s, s), _inner(s, y)  # [q, k, k]
    length, curvature = squares.diagonal(dim1=1, dim2=2), products.diagonal(dim1=1, dim2=2)  # [q, k]
    missing = length == 0
    scale = (curvature[:, -1:] / length[:, -1:]).nan_to_num(0.0)  # [q, 1]
    lower, none = products.tril(-1), missing.double().diag_embed()  # [q, k, k]
    top = torch.cat([scale[..., None] * squares + none, lower], dim=2)
    bottom = torch.cat([lower.mT, -curvature.diag_embed() - none], dim=2)
    right = torch.cat([scale * _inner(s, v[:, None])[..., 0], _inner(y, v[:, None])[..., 0]], dim=1)  # [q, 2 k]
    found, failed = torch.linalg.solve_ex(torch.cat([top, bottom], dim=1), right[..., None])
    on_s, on_y = found.chunk(2, dim=1)  # [q, k, 1] each
    correction = (scale[..., None] * on_s * s + on_y * y).sum(1)  # [q, P]
    usable = (failed == 0) & found.isfinite().all(1)[:, 0] & ((curvature > 0) | missing).all(1)
    return (scale * v - correction.where(usable[:, None], 0.0)).to(vector.dtype)


def _inner(one: Tensor, other: Tensor) -> Tensor:
    """Inner products of the rows of two [q, ., P]: [q, i, j]."""
    return (one[:, :, None] * other[:, None]).sum(-1)


@dataclass
class Pairs:
    """The last pairs of every client, the oldest first; places that are not filled yet are zero."""

    steps: Tensor  # [S, C, k, P]
    changes: Tensor  # [S, C, k, P]

    @staticmethod
    def none(clients: Tensor, pairs: int, like: Tensor) -> Pairs:
        """No pairs yet, of as many clients as in `clients` [S, C] and models as `like` [S, P]."""
        return Pairs(*(like.new_zeros(*clients.shape, pairs, like.shape[1]) for _ in range(2)))

    def known(self, cohort: Tensor) -> Tensor:
        """Which clients of a cohort [S, m] have a pair. [S, m]"""
        return self._of(self.steps[:, :, -1:], cohort)[:, :, 0].ne(0).any(-1)

    def product(self, cohort: Tensor, vector: Tensor) -> Tensor:
        """B v of each client of a cohort [S, m], with the seed's `vector` [S, P]. [S, m, P]"""
        steps, changes = (self._of(part, cohort).flatten(0, 1) for part in (self.steps, self.changes))
        rows = vector[:, None].expand(-1, cohort.shape[1], -1).flatten(0, 1)
        return hessian_product(steps, changes, rows).unflatten(0, cohort.shape)

    def add(self, cohort: Tensor, which: Tensor, step: Tensor, change: Tensor) -> None:
        """A new pair of the clients in the places `which` [S, m]: the seed's `step` [S, P] and their own `change`
        [S, m, P]; the oldest goes. A step of zeros says nothing, and is left out.
        """
        which = upload(which, step.device) & (step != 0).any(1)[:, None]
        row, place = which.nonzero(as_tuple=True)
        client = upload(cohort, step.device)[row, place]
        for kept, new in ((self.steps, step[row]), (self.changes, change[row, place])):
            kept[row, client] = torch.cat([kept[row, client, 1:], new[:, None]], dim=1)

    @staticmethod
    def _of(part: Tensor, cohort: Tensor) -> Tensor:
        """The rows of a cohort [S, m]. [S, m, k, P]"""
        seeds = torch.arange(len(part), device=part.device)[:, None]
        return part[seeds, upload(cohort.clamp(min=0), part.device)]
