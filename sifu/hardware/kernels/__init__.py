"""Triton kernels for a GPU: many small models at once. Their modules are imported only where Triton is."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

MOST_EXAMPLES = 128  # of a client whose Gram matrix a processor can hold: see logistic.py


@cache
def has_triton() -> bool:
    """torch for CUDA brings it along on Linux."""
    return find_spec("triton") is not None


def kernels_fit(data: Tensor) -> bool:
    """Whether our kernels can work on these data: single precision, on a GPU."""
    return data.is_cuda and data.element_size() == 4 and data.is_floating_point() and has_triton()


def row_norms(rows: Tensor) -> Tensor:
    """The length of each row, the same in any batch of rows. [..., P] -> [...]"""
    if not kernels_fit(rows):
        return rows.norm(dim=-1)
    from sifu.hardware.kernels import norm

    return norm.row_norms(rows)
