"""What a module must do to be trained here: each way to fail it is one sentence that says what to use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sifu.catalog.datasets import DATASETS
from sifu.catalog.lookup import resolve
from sifu.catalog.models import MODELS
from sifu.errors import SifuError
from sifu.models.check import build_module, check_module, check_parts
from tests.conftest import DATASET_OF

SHAPE, CLASSES = (2, 6, 6), 3


def net(*layers: nn.Module) -> nn.Module:
    """A convolution, some layers, and a full one."""
    return nn.Sequential(nn.Conv2d(2, 4, 3), *layers, nn.Flatten(), nn.Linear(64, CLASSES))


class Custom(nn.Module):
    """A module whose `forward` a test gives."""

    def __init__(self, forward: Any) -> None:
        super().__init__()
        self.net, self.given = net(), forward

    def forward(self, images: Tensor) -> Any:
        return self.given(self, images)


class WithBuffer(Custom):
    def __init__(self) -> None:
        super().__init__(lambda self, images: self.net(images) * self.scale)
        self.register_buffer("scale", torch.ones(1))


def by_batch(self: Custom, images: Tensor) -> Tensor:
    logits: Tensor = self.net(images)
    return logits - logits.mean(0, keepdim=True)


def by_batch_in_training(self: Custom, images: Tensor) -> Tensor:
    return by_batch(self, images) if self.training else self.net(images)


def frozen() -> nn.Module:
    made = net()
    made[0].requires_grad_(False)  # type: ignore[index]
    return made


class Attention(nn.Module):
    """Lines of an image attend to each other; the dropout is inside of torch's function."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(6, 2, dropout=rate, batch_first=True)
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(6, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        lines = images.flatten(1, 2)  # [n, lines, 6]
        found: Tensor = self.out(self.drop(self.attention(lines, lines, lines)[0].mean(1)))
        return found


class Recurrent(nn.Module):
    """Reads an image line by line."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.lines, self.out = nn.LSTM(6, 4, 2, batch_first=True, dropout=rate), nn.Linear(4, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = self.out(self.lines(images.flatten(1, 2))[0][:, -1])
        return found


def attended(self: Custom, images: Tensor) -> Tensor:
    share = 0.3 if self.training else 0.0
    images = nn.functional.scaled_dot_product_attention(images, images, images, dropout_p=share)
    found: Tensor = self.net(images)
    return found


def by_numpy(self: Custom, images: Tensor) -> Tensor:
    found: Tensor = self.net(images * (1 + self.training * np.random.default_rng().random()))
    return found


BATCH_NORM = r"contains BatchNorm2d \(1\), which mixes the examples of a batch.*: use nn.GroupNorm"


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (net(nn.BatchNorm2d(4)), BATCH_NORM),
        (net(nn.BatchNorm2d(4, track_running_stats=False)), BATCH_NORM),
        (net(nn.SyncBatchNorm(4)), "contains SyncBatchNorm"),
        (net(nn.LazyBatchNorm2d()), "contains LazyBatchNorm2d"),
        (
            net(nn.InstanceNorm2d(4, track_running_stats=True)),
            r"contains InstanceNorm2d \(1\) with running statistics, .*=False",
        ),
        (WithBuffer(), "has the buffer scale, which is no weight .* compute it in `forward`"),
        (net(nn.LazyConv2d(4, 1)), r"learns the size of 1.weight from its first batch"),
        (nn.Flatten(), "has no weights"),
        (nn.Linear(2, 2, dtype=torch.complex64), "has weights of type complex64"),
        (frozen(), r"has frozen weights \(0.weight\)"),
        (nn.Sequential(nn.Flatten(), nn.Linear(72, 4)), r"gives \[3, 4\] for 3 images; it must give logits, \[3, 3\]"),
        (nn.Linear(7, 3), r"fails on images of \(2, 6, 6\): RuntimeError: "),
        (Custom(lambda self, images: (self.net(images),)), "gives a tuple instead of logits"),
        (Custom(lambda self, images: self.net(images).argmax(1)), r"gives \[3\] of type int64 for 3 images"),
        (Custom(lambda self, images: nn.functional.dropout(self.net(images))), "draws random numbers in evaluation"),
        (Custom(lambda self, images: self.net(images + torch.rand(1))), "draws random numbers in evaluation"),
        (
            Custom(lambda self, images: self.net(images + self.training * torch.rand(1))),
            r"draws .* \(rand\) that have no key",
        ),
        (Custom(by_batch), "mixes the examples of a batch: an image gets another answer alone"),
        (Custom(by_batch_in_training), "mixes the examples of a batch"),
        (nn.Sequential(nn.Dropout(0.5), Custom(by_batch_in_training)), "mixes the examples of a batch"),
        (Attention(0.3), "draws random numbers that have no key, .* dropout inside of attention and recurrent"),
        (Recurrent(0.3), "draws random numbers that have no key"),
        (Custom(attended), "draws random numbers that have no key"),
        (Custom(by_numpy), "draws random numbers that have no key"),
        (Custom(lambda self, images: self.nothing), "fails on images .* has no attribute 'nothing' .*test_check.py"),
        ("net", "is a str, not a torch.nn.Module"),
        (None, "is None, not a torch.nn.Module"),
    ],
)
def test_what_cannot_be_trained(module: Any, words: str) -> None:
    with pytest.raises(SifuError, match=f"^model tried {words}") as caught:
        check_module(module, SHAPE, CLASSES, "tried")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "module",
    [
        net(),
        net(nn.GroupNorm(2, 4), nn.Dropout(0.5)),
        net(nn.InstanceNorm2d(4), nn.ReLU(inplace=True)),
        net(nn.LayerNorm([4, 4, 4]), nn.Dropout2d(0.1)),
        Attention(0.0),
        Recurrent(0.0),
        nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 3, 6)), nn.Flatten()),
    ],
)
def test_what_can(module: nn.Module) -> None:
    check_module(module, SHAPE, CLASSES, "tried")


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_of_the_catalog(name: str) -> None:
    spec = DATASETS[DATASET_OF[name]]
    module = build_module(resolve(MODELS[name].builder), spec.shape, spec.num_classes, name)
    check_module(module, spec.shape, spec.num_classes, name)


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (lambda: net(), r"cannot be built: TypeError: .* it is called with \(\(2, 6, 6\), 3\), the images' shape and"),
        (lambda shape, classes: nn.Linear(shape[3], classes), r"IndexError: tuple index out of range .*test_check.py"),
        (3, "TypeError: 'int' object is not callable"),
    ],
)
def test_a_builder_that_fails(builder: Any, words: str) -> None:
    with pytest.raises(SifuError, match=words):
        build_module(builder, SHAPE, CLASSES, "tried")


def test_a_builder_draws_the_same_every_time() -> None:
    """Biases of nn.LSTM keep the values that the constructor draws: every job must have the same."""
    first, second = (build_module(lambda *_: Recurrent(0.0), SHAPE, CLASSES, "tried") for _ in range(2))
    assert torch.equal(first.lines.bias_ih_l0, second.lines.bias_ih_l0)


def test_checking_leaves_no_trace() -> None:
    """A job may check as well: neither torch's generator nor the module's mode changes."""
    module, state = net(nn.Dropout(0.5)).train(), torch.random.get_rng_state()
    check_module(build_module(lambda *_: module, SHAPE, CLASSES, "tried"), SHAPE, CLASSES, "tried")
    assert torch.equal(torch.random.get_rng_state(), state)
    assert module.training
    assert all(parameter.grad is None for parameter in module.parameters())


def test_parts_can_be_checked_without_images() -> None:
    check_parts(nn.Linear(2, 1).double(), "tried")
    with pytest.raises(SifuError, match="BatchNorm2d"):
        check_parts(net(nn.BatchNorm2d(4)), "tried")
