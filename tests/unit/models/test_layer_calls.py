"""Dropout with keys, and layers of many models at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import grad, vmap
from torch.nn import functional
from torch.nn.functional import cross_entropy

from sifu.core.keys import Keys
from sifu.errors import SifuError
from sifu.models.flat import FlatModel
from sifu.models.layer_calls import LayerCalls
from tests.kernels import DEVICE, KERNELS
from tests.networks import Various


def key(seed: int = 0) -> Tensor:
    return Keys.of([seed]).rows(0).state


def dropped(layer: nn.Module, images: Tensor, seed: int = 0) -> Tensor:
    with LayerCalls(key(seed)):
        return layer.train()(images)


def test_functions_of_torch_may_be_called_by_keyword() -> None:
    with LayerCalls(key()):
        first = functional.dropout(torch.ones(9), p=0.5, training=True)
    with LayerCalls(key()):
        assert torch.equal(torch.dropout(torch.ones(9), p=0.5, train=True), first)


def test_a_mask_is_a_function_of_its_key() -> None:
    images = torch.ones(4, 50)
    first, again, other = (dropped(nn.Dropout(0.5), images, seed) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    torch.manual_seed(3)
    assert torch.equal(first, dropped(nn.Dropout(0.5), images)), "torch's own state has no part in it"


def test_every_call_of_a_pass_has_a_mask_of_its_own() -> None:
    layer, ones = nn.Dropout(0.5), torch.ones(64)
    once, twice = dropped(layer, ones), dropped(nn.Sequential(layer, layer), ones)
    assert torch.equal(twice > 0, (once > 0) & (twice > 0))
    assert 4 <= int((twice > 0).sum()) < int((once > 0).sum())


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_numbers_are_dropped_with_probability_p(p: float) -> None:
    """10,000 draws: standard deviation at most sqrt(0.25 / 10000) = 0.005. What stays is divided by 1 - p."""
    out = dropped(nn.Dropout(p), torch.ones(100, 100))
    assert float((out == 0).float().mean()) == pytest.approx(p, abs=0.02)
    if p < 1:
        torch.testing.assert_close(out[out > 0].unique(), torch.tensor([1 / (1 - p)]))


@pytest.mark.parametrize("layer", [nn.Dropout2d(0.5), nn.Dropout2d(0.5, inplace=True)])
def test_dropout_of_features_drops_whole_channels(layer: nn.Module) -> None:
    out = dropped(layer, torch.ones(20, 10, 3, 3))
    assert ((out == 0).all(3).all(2) | (out == 2).all(3).all(2)).all()
    assert 50 < int((out[:, :, 0, 0] == 0).sum()) < 150


def test_a_longer_batch_does_not_change_the_masks_of_its_first_examples() -> None:
    """A GPU pads batches; the CPU does not."""
    short, long = dropped(nn.Dropout(0.5), torch.ones(3, 7)), dropped(nn.Dropout(0.5), torch.ones(5, 7))
    assert torch.equal(short, long[:3])


def test_normal_numbers_have_keys() -> None:
    """10,000 draws: the mean is within 5 / 100 of 0, the mean square within 5 sqrt(2) / 100 of 1."""
    with LayerCalls(key()) as calls:
        first, second = (torch.randn_like(torch.zeros(100, 100)) for _ in range(2))
    with LayerCalls(key()):
        assert torch.equal(torch.randn_like(torch.zeros(3, 100)), first[:3])  # further examples change nothing
    assert calls.masks == 2
    assert not torch.equal(first, second)
    assert float(first.mean()) == pytest.approx(0, abs=0.05)
    assert float(first.square().mean()) == pytest.approx(1, abs=0.08)
    with pytest.raises(SifuError, match=r"\(randn_like\) that have no key"), LayerCalls():
        torch.randn_like(first)


def test_evaluation_has_no_dropout() -> None:
    model = FlatModel(Various())
    weights, images = model.init(Keys.of([0]))[0], torch.randn(4, 3, 12, 12)
    assert torch.equal(model.logits(weights, images), model.logits(weights, images))
    plain = FlatModel(Various(dropout=0.0))
    torch.testing.assert_close(model.logits(weights, images), plain.logits(weights, images))
    with LayerCalls(key()):
        assert not torch.equal(model.logits(weights, images, training=True), model.logits(weights, images))


def test_who_draws_masks() -> None:
    assert FlatModel(Various()).draws_masks((3, 12, 12))
    assert not FlatModel(Various(dropout=0.0)).draws_masks((3, 12, 12))
    assert not FlatModel(nn.Linear(4, 2)).draws_masks((4,))


class Calls(nn.Module):
    """A layer, then a given function of its output."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.fc, self.function = nn.Linear(4, 4), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.fc(x))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("rand_like", lambda x: x + torch.rand_like(x)),
        ("alpha_dropout", functional.alpha_dropout),
        ("normal_", lambda x: x + torch.empty(4).normal_()),
        ("rrelu", lambda x: functional.rrelu(x, training=True)),
    ],
)
def test_draws_without_a_key_are_refused(name: str, function: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(SifuError, match=rf"draws random numbers \({name}\) that have no key"):
        FlatModel(Calls(function)).draws_masks((4,))


def gradients(model: FlatModel, stacked: bool) -> Tensor:
    """Of two models on two examples each; with the layers of torch, or with ours."""
    generator = torch.Generator().manual_seed(0)
    weights = (torch.randn(2, model.num_weights, generator=generator) * 0.3).to(DEVICE)
    images = torch.randn(2, 2, 3, 12, 12, generator=generator).to(DEVICE)
    labels = torch.randint(5, (2, 2), generator=generator).to(DEVICE)

    def loss(row: Tensor, x: Tensor, y: Tensor, state: Tensor) -> Tensor:
        with LayerCalls(state, stacked=stacked):
            return cross_entropy(model.logits(row, x, training=True), y)

    return vmap(grad(loss))(weights, images, labels, Keys.of([0, 1], DEVICE).state)


def on_kernels(test: Callable[..., None]) -> Callable[..., None]:
    for mark in KERNELS:
        test = mark(test)
    return test


@on_kernels
def test_layers_of_many_models_agree_with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """float32's rounding of some hundred terms: 1e-6 of the largest number."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    model = FlatModel(Various().to(DEVICE))
    plain = gradients(model, stacked=False)
    torch.testing.assert_close(gradients(model, stacked=True), plain, rtol=0, atol=2e-6 * float(plain.abs().max()))


@on_kernels
@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(nn.Conv2d(3, 4, (1, 3)), marks=pytest.mark.long),
        pytest.param(nn.Conv2d(3, 4, 3, padding="valid", bias=False), marks=pytest.mark.long),
        nn.Conv2d(3, 70, 2, stride=3),
        nn.MaxPool2d(4),
        nn.Sequential(nn.Flatten(), nn.Linear(243, 5, bias=False)),
        pytest.param(nn.Sequential(nn.Flatten(2), nn.LayerNorm(81)), marks=pytest.mark.long),
        nn.Sequential(nn.LayerNorm((9, 9)), nn.Linear(9, 3)),
        nn.GroupNorm(3, 3),
        # these are left to torch
        nn.Conv2d(3, 6, 3, groups=3),
        pytest.param(nn.Conv2d(3, 4, 3, padding="same"), marks=pytest.mark.long),
        pytest.param(nn.Conv2d(3, 4, 3, stride=(1, 2)), marks=pytest.mark.long),
        nn.MaxPool2d(3, stride=2),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.GroupNorm(1, 3, affine=False),
    ],
    ids=str,
)
def test_a_layer_and_its_gradients(layer: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two models; the input's gradient, too."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    generator = torch.Generator().manual_seed(0)
    model = FlatModel(nn.Sequential(nn.Conv2d(3, 3, 1), layer).to(DEVICE))  # so that the layer's input has a gradient
    weights = (torch.randn(2, model.num_weights, generator=generator) * 0.5).to(DEVICE)
    images = torch.randn(2, 2, 3, 9, 9, generator=generator).to(DEVICE)

    def loss(row: Tensor, x: Tensor, stacked: bool) -> Tensor:
        with LayerCalls(stacked=stacked):
            return (model.logits(row, x).sin()).sum()

    ours, plain = (vmap(grad(loss), in_dims=(0, 0, None))(weights, images, stacked) for stacked in (True, False))
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=3e-6 * float(plain.abs().max()))


@on_kernels
def test_a_group_that_is_too_large_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in parts: 81 positions of two channels, 32 at a time."""
    from sifu.hardware.kernels import group_norm

    monkeypatch.setattr(group_norm, "_WHOLE", 0)
    monkeypatch.setattr(group_norm, "_BLOCK", 64)
    test_a_layer_and_its_gradients(nn.Sequential(nn.Conv2d(3, 4, 1), nn.GroupNorm(2, 4)), monkeypatch)


@on_kernels
def test_a_maximum_does_not_hide_a_nan() -> None:
    from sifu.hardware.kernels import max_pool

    images = torch.zeros(1, 1, 1, 4, 4, device=DEVICE)
    images[..., 1, 1] = torch.nan
    assert max_pool.forward(images, 2)[0].isnan().flatten().tolist() == [True, False, False, False]
