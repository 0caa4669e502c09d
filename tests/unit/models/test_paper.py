"""The paper's networks, compared with a plain forward pass in the order of its repository: weight for weight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sifu.catalog.datasets import DATASETS
from sifu.core.keys import Keys
from sifu.models.flat import FlatModel, build_model
from sifu.models.layer_calls import LayerCalls

Weights = dict[str, Tensor]


def conv(x: Tensor, weights: Weights, name: str, padding: int) -> Tensor:
    return F.conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], padding=padding)


def full(x: Tensor, weights: Weights, name: str) -> Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def fashionmnist(x: Tensor, weights: Weights) -> Tensor:
    for name in ("conv1", "conv2"):
        x = F.max_pool2d(F.relu(conv(x, weights, name, 1)), 2)
    return F.log_softmax(full(F.relu(full(x.reshape(len(x), -1), weights, "fc1")), weights, "fc2"), 1)


def cifar(x: Tensor, weights: Weights) -> Tensor:
    for name in ("conv1", "conv2"):
        x = F.max_pool2d(F.relu(conv(x, weights, name, 0)), 2)
    x = conv(x, weights, "conv3", 0)  # no ReLU
    return full(F.relu(full(x.reshape(len(x), -1), weights, "fc1")), weights, "fc2")


def celeba(x: Tensor, weights: Weights) -> Tensor:
    for name in ("conv1", "conv2", "conv3"):
        x = F.max_pool2d(conv(x, weights, name, 1), 2)  # no ReLU at all
    return full(x.reshape(len(x), -1), weights, "fc")


# weights by hand: (inputs + 1) x outputs of each layer, 9 x channels being the inputs of a 3x3 convolution
NETWORKS = [
    ("cnn_fashionmnist", "fashionmnist", 10 * 32 + 289 * 64 + 3137 * 256 + 257 * 10, fashionmnist),
    ("cnn_cifar10", "cifar10", 28 * 32 + 289 * 64 + 577 * 64 + 1025 * 64 + 65 * 10, cifar),
    ("cnn_cifar100", "cifar100", 28 * 32 + 289 * 64 + 577 * 64 + 1025 * 256 + 257 * 100, cifar),
    ("cnn_celeba", "celeba", 28 * 8 + 73 * 16 + 145 * 32 + 2049 * 2, celeba),
]
EVERY = pytest.mark.parametrize(("name", "dataset", "size", "plain"), NETWORKS, ids=[row[0] for row in NETWORKS])


@EVERY
def test_weight_for_weight(name: str, dataset: str, size: int, plain: Callable[..., Tensor]) -> None:
    """The same logits, and the same gradient of the loss: pooling before the ReLU changes neither."""
    spec = DATASETS[dataset]
    model = build_model(name, spec)
    assert model.num_weights == size
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(4, *spec.shape, generator=generator, dtype=torch.float64)
    labels = torch.randint(spec.num_classes, (4,), generator=generator)
    row = model.init(Keys.of([3]))[0].double().requires_grad_()
    parts = zip(model.names, model.split(row), model.shapes, strict=True)
    expected = plain(images, {part: weights.view(shape) for part, weights, shape in parts})
    logits = model.logits(row, images)
    torch.testing.assert_close(logits, expected, rtol=1e-10, atol=1e-12)
    ours, theirs = (torch.autograd.grad(F.cross_entropy(out, labels), row)[0] for out in (logits, expected))
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_only_fashionmnist_has_dropout() -> None:
    """One of ten numbers of its full layer: 4 x 256 draws, standard deviation 0.3 / 32 = 0.01."""
    drawing = [
        name
        for name, dataset, *_ in NETWORKS
        if build_model(name, DATASETS[dataset]).draws_masks(DATASETS[dataset].shape)
    ]
    assert drawing == ["cnn_fashionmnist"]
    model = build_model("cnn_fashionmnist", DATASETS["fashionmnist"])
    dropped: list[Tensor] = []
    model.module.dropout.register_forward_hook(lambda _, __, out: dropped.append(out))
    weights = torch.ones(model.num_weights) / 100
    with LayerCalls(Keys.of([0]).rows(0).state):
        FlatModel(model.module).logits(weights, torch.ones(4, 1, 28, 28), training=True)
    assert float((dropped[0] == 0).float().mean()) == pytest.approx(0.1, abs=0.04)
