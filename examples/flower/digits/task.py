"""The model and the data: 64 pixels, ten digits, a share of scikit-learn's images for each client."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

CLIENTS = 10


def model() -> nn.Module:
    """Logistic regression: a convex loss, for which the certificate's B = 1 is a theorem with full batches."""
    torch.manual_seed(0)
    return nn.Linear(64, 10)


def data(client: int) -> tuple[Tensor, Tensor]:
    """The images and labels of a client: every tenth one."""
    found = find_spec("sklearn")  # read its file: the import would take longer than all training
    assert found is not None, "the digits come with scikit-learn"
    table = np.loadtxt(Path(str(found.origin)).parent / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    rows = table[client::CLIENTS]
    return torch.tensor(rows[:, :-1] / 16, dtype=torch.float32), torch.tensor(rows[:, -1]).long()


def train(net: nn.Module, images: Tensor, labels: Tensor, steps: int = 5, lr: float = 0.5) -> float:
    """Some steps of gradient descent on all images; the last loss."""
    optimiser = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = cross_entropy(net(images), labels)
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def accuracy(net: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The share of images that are recognised."""
    with torch.no_grad():
        return float((net(images).argmax(1) == labels).float().mean())
