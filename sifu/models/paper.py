"""The networks of the paper's repository, weight for weight. Its text speaks of three convolutions and two full layers;
its code, which made the figures, has these. MNIST's model is `Logistic`.

The repository applies the ReLU before pooling. Pooled first, the values and gradients are the same, for a quarter of
the work. `pools` and `relus` say what follows each convolution: models/stacked.py reads them.
"""

from __future__ import annotations

from torch import Tensor, nn


class CnnFashionMnist(nn.Module):
    """Two convolutions with padding, a full layer with dropout (`CNN_FashionMNIST`)."""

    def __init__(self, channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.pools, self.relus = (2, 2), (True, True)
        self.fc1 = nn.Linear(64 * 7 * 7, 256)
        self.dropout = nn.Dropout(0.1)
        self.fc2 = nn.Linear(256, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.pool(self.conv1(images)).relu()  # [n, 32, 14, 14]
        x = self.pool(self.conv2(x)).relu()  # [n, 64, 7, 7]
        x = self.dropout(self.fc1(x.flatten(1)).relu())
        return self.fc2(x).log_softmax(1)  # [n, classes]; the loss takes the logarithm again, which changes nothing


class CnnCifar(nn.Module):
    """Three convolutions, the third without a ReLU, and two full layers (`CNN_CIFAR`, `CNN_CIFAR100`).

    The repository's dropout has probability 0, so there is none here.
    """

    def __init__(self, channels: int, num_classes: int, hidden: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.conv3 = nn.Conv2d(64, 64, 3)
        self.pool = nn.MaxPool2d(2)
        self.pools, self.relus = (2, 2, 1), (True, True, False)
        self.fc1 = nn.Linear(64 * 4 * 4, hidden)
        self.fc2 = nn.Linear(hidden, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.pool(self.conv1(images)).relu()  # [n, 32, 15, 15]
        x = self.pool(self.conv2(x)).relu()  # [n, 64, 6, 6]
        x = self.conv3(x).flatten(1)  # [n, 1024]
        return self.fc2(self.fc1(x).relu())  # [n, classes]


class CnnCelebA(nn.Module):
    """Three convolutions with padding, each pooled, without any ReLU, and one full layer (`CNN_Celeba`)."""

    def __init__(self, channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.pools, self.relus = (2, 2, 2), (False, False, False)
        self.fc = nn.Linear(32 * 8 * 8, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = images
        for convolution in (self.conv1, self.conv2, self.conv3):
            x = self.pool(convolution(x))
        return self.fc(x.flatten(1))  # [n, classes]


def cnn_fashionmnist(shape: tuple[int, int, int], num_classes: int) -> CnnFashionMnist:
    """FashionMNIST: 824,458 weights."""
    return CnnFashionMnist(shape[0], num_classes)


def cnn_cifar10(shape: tuple[int, int, int], num_classes: int) -> CnnCifar:
    """CIFAR-10: 122,570 weights."""
    return CnnCifar(shape[0], num_classes, hidden=64)


def cnn_cifar100(shape: tuple[int, int, int], num_classes: int) -> CnnCifar:
    """CIFAR-100: 344,420 weights."""
    return CnnCifar(shape[0], num_classes, hidden=256)


def cnn_celeba(shape: tuple[int, int, int], num_classes: int) -> CnnCelebA:
    """CelebA: 10,130 weights."""
    return CnnCelebA(shape[0], num_classes)
