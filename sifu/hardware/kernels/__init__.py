"""Triton kernels for many small models at once on a GPU. Their modules are imported only where Triton is installed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

MAX_EXAMPLES = 128  # per client, so that its Gram matrix fits on one multiprocessor: see logistic.py


@cache
def has_triton() -> bool:
    """Whether Triton is installed; torch for CUDA includes it on Linux."""
    return find_spec("triton") is not None


def kernels_fit(data: Tensor) -> bool:
    """Whether our kernels apply to these data: single precision, on a GPU."""
    return data.is_cuda and data.element_size() == 4 and data.is_floating_point() and has_triton()


def row_norms(rows: Tensor) -> Tensor:
    """The Euclidean norm of each row; its bits do not depend on the other rows. [..., P] -> [...]"""
    if not kernels_fit(rows):
        return rows.norm(dim=-1)
    from sifu.hardware.kernels import norm

    return norm.row_norms(rows)
