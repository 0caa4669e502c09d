"""Residual networks for small images (He et al. 2016), with group instead of batch normalisation (Wu and He 2018).

Batch statistics mix a client's examples and are no weights; two groups a layer are what federated work with these
networks uses (Hsieh et al. 2020, Reddi et al. 2021).
"""

from __future__ import annotations

from torch import Tensor, nn

_GROUPS = 2


def _conv(channels: int, out: int, side: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(channels, out, side, stride=stride, padding=side // 2, bias=False)


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut; the shortcut is a 1x1 convolution where sizes change."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = _conv(channels, out, 3, stride), nn.GroupNorm(_GROUPS, out)
        self.conv2, self.norm2 = _conv(out, out, 3, 1), nn.GroupNorm(_GROUPS, out)
        self.shortcut = _conv(channels, out, 1, stride) if stride > 1 or channels != out else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(self.conv1(x)).relu()
        return (self.norm2(self.conv2(y)) + self.shortcut(x)).relu()


class ResNet(nn.Module):
    """A convolution, three stages of `blocks` blocks with 16, 32 and 64 channels, the mean of each channel, classes."""

    def __init__(self, channels: int, num_classes: int, blocks: int) -> None:
        super().__init__()
        self.conv, self.norm = _conv(channels, 16, 3, 1), nn.GroupNorm(_GROUPS, 16)
        stages, before = [], 16
        for out in (16, 32, 64):
            for number in range(blocks):
                stages.append(Block(before, out, 2 if number == 0 and out > 16 else 1))
                before = out
        self.stages = nn.Sequential(*stages)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.norm(self.conv(images)).relu()
        return self.fc(self.stages(x).mean((2, 3)))  # [n, classes]


def resnet8(shape: tuple[int, int, int], num_classes: int) -> ResNet:
    """One block a stage: 77,850 weights for 10 classes of colour images."""
    return ResNet(shape[0], num_classes, 1)


def resnet20(shape: tuple[int, int, int], num_classes: int) -> ResNet:
    """Three blocks a stage: 272,282 weights for 10 classes of colour images."""
    return ResNet(shape[0], num_classes, 3)
