"""Small networks: three 3x3 convolutions without padding, then two fully connected layers.

They follow the paper's text; the networks of its code differ (docs/replication/deviations.md).
"""

from __future__ import annotations

from torch import Tensor, nn


class Cnn(nn.Module):
    """conv 32, pool, conv 64, pool, conv 64 (, pool), fc 64, fc classes; or with other widths.

    Without padding the first fully connected layer is small (93k weights in all at 28x28). So the noise of a
    certificate has fewer coordinates, and training does not diverge under it.
    """

    def __init__(
        self,
        channels: int,
        side: int,
        num_classes: int,
        *,
        last_pool: int = 1,
        widths: tuple[int, int, int, int] = (32, 64, 64, 64),
    ) -> None:
        """`widths`: channels of the convolutions (kernels need powers of two from 16), then of the full layer."""
        super().__init__()
        self.conv1 = nn.Conv2d(channels, widths[0], 3)
        self.conv2 = nn.Conv2d(widths[0], widths[1], 3)
        self.conv3 = nn.Conv2d(widths[1], widths[2], 3)
        self.pool = nn.MaxPool2d(2)
        self.pools, self.relus = (2, 2, last_pool), (True, True, True)
        self.last_pool = nn.MaxPool2d(last_pool) if last_pool > 1 else nn.Identity()
        side = (((side - 2) // 2 - 2) // 2 - 2) // last_pool
        self.fc1 = nn.Linear(widths[2] * side * side, widths[3])
        self.fc2 = nn.Linear(widths[3], num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.pool(self.conv1(images)).relu()  # [n, 32, ...]; pooled first: the same values, a quarter of the work
        x = self.pool(self.conv2(x)).relu()  # [n, 64, ...]
        x = self.last_pool(self.conv3(x)).relu()
        return self.fc2(self.fc1(x.flatten(1)).relu())  # [n, classes]


def cnn28(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """MNIST and FashionMNIST: 93,322 weights for 10 classes."""
    return Cnn(shape[0], 28, num_classes)


def cnn32(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """CIFAR-10 and CIFAR-100: 122,570 and 128,420 weights."""
    return Cnn(shape[0], 32, num_classes)


def cnn64(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """CelebA: 203,970 weights for 2 classes; pooled once more, or the first full layer would hold 590k."""
    return Cnn(shape[0], 64, num_classes, last_pool=2)


# Other networks that the paper may have used: it does not say which (see `scenario_searches`).
NARROW, WIDE = (16, 32, 32, 32), (64, 64, 64, 128)


def cnn28_narrow(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """Half as wide: 23,626 weights."""
    return Cnn(shape[0], 28, num_classes, widths=NARROW)


def cnn28_wide(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """More of the first channels, twice the full layer: 149,642 weights."""
    return Cnn(shape[0], 28, num_classes, widths=WIDE)


def cnn28_pooled(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """Pooled thrice: 60,554 weights."""
    return Cnn(shape[0], 28, num_classes, last_pool=2)


def cnn64_narrow(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """Half as wide: 51,298 weights."""
    return Cnn(shape[0], 64, num_classes, last_pool=2, widths=NARROW)


def cnn64_wide(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """More of the first channels, twice the full layer: 370,946 weights."""
    return Cnn(shape[0], 64, num_classes, last_pool=2, widths=WIDE)


def cnn64_unpooled(shape: tuple[int, int, int], num_classes: int) -> Cnn:
    """Pooled twice, as the others: 646,338 weights."""
    return Cnn(shape[0], 64, num_classes)
