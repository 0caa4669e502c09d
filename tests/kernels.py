"""Tests of the GPU's kernels: on a GPU compiled, elsewhere in Triton's interpreter; and a small network for them."""

from __future__ import annotations

import platform
import sys
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sifu.models.flat import FlatModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HAS_WHEELS = sys.platform == "linux" and platform.machine() == "x86_64"  # if Triton is missing there, tests must fail
NEEDS_TRITON = pytest.mark.skipif(
    not HAS_WHEELS and find_spec("triton") is None, reason="torch brings Triton on x86-64 only"
)
KERNELS = [
    NEEDS_TRITON,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # the interpreter's own
    pytest.mark.gpu,
]


class SmallCnn(nn.Module):
    """`CnnFashionMnist` for small images, with 16 channels."""

    def __init__(self, side: int, num_classes: int, hidden: int, *, last_pool: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.pool, self.last_pool = nn.MaxPool2d(2), nn.MaxPool2d(last_pool)
        self.pools, self.relus = (2, last_pool), (True, True)
        self.fc1 = nn.Linear(16 * (side // 2 // last_pool) ** 2, hidden)
        self.dropout = nn.Dropout(dropout)
        self.fc2 = nn.Linear(hidden, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.pool(self.conv1(images)).relu()
        x = self.last_pool(self.conv2(x)).relu()
        return self.fc2(self.dropout(self.fc1(x.flatten(1)).relu()))  # [n, classes]


class WithoutMasks:
    """Kernels of a whole network whose author knows nothing of dropout."""

    def __init__(self, model: FlatModel, channels: int, side: int) -> None:
        from sifu.models.stacked import StackedCnn

        self._net = StackedCnn(model, channels, side)
        self.pack, self.unpack, self.backward = self._net.pack, self._net.unpack, self._net.backward

    def forward(self, packed: Tensor, images: Tensor, rows: Tensor) -> Any:
        return self._net.forward(packed, images, rows)
