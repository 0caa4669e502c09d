"""The suite's networks, and one that nobody wrote kernels for: every kind of layer that a researcher may bring."""

from __future__ import annotations

from typing import Any

import pytest
import torch.nn.functional as F
from torch import Tensor, nn

from sifu.catalog.models import MODELS

# another size of a network that is tested anyway: in `make test-all` alone
_OTHER_SIZES = (
    "cnn28_wide",
    "cnn64",
    "cnn_fashionmnist",
    "cnn28_pooled",
    "cnn64_narrow",
    "cnn64_wide",
    "cnn64_unpooled",
    "cnn_cifar100",
    "resnet20",
)


def each_model(*more: Any) -> list[Any]:
    """The name of every model, with `more` arguments, to parametrize a test with."""
    return [pytest.param(name, *more, marks=[pytest.mark.long] * (name in _OTHER_SIZES)) for name in MODELS]


class Various(nn.Module):
    """Padding, strides, dilation, group and layer normalisation, a residual, pooling, three kinds of dropout."""

    def __init__(self, shape: tuple[int, int, int] = (3, 12, 12), num_classes: int = 5, dropout: float = 0.4) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(shape[0], 6, 3, padding=1), nn.GroupNorm(2, 6)
        self.conv2, self.norm2 = nn.Conv2d(6, 18, 3, stride=2, padding=1, bias=False), nn.GroupNorm(3, 18)
        self.shortcut = nn.Conv2d(6, 18, 1, stride=2)
        self.channels = nn.Dropout2d(dropout)
        self.conv3 = nn.Conv2d(18, 16, 3, dilation=2)
        self.norm3 = nn.LayerNorm(16)
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(16, num_classes)
        self.scale = nn.Parameter(nn.init.ones_(self.fc.weight.new_empty(1)))
        self.rate = dropout

    def forward(self, images: Tensor) -> Tensor:
        x = self.norm1(self.conv1(images)).relu()
        x = (self.norm2(self.conv2(x)) + self.shortcut(x)).relu()
        x = self.conv3(self.channels(x)).relu()  # [n, 16, side, side]
        x = self.norm3(F.max_pool2d(x, 2).mean((2, 3)))
        x = F.dropout(x * self.scale, self.rate, training=self.training)
        return self.fc(self.drop(x))  # [n, classes]
