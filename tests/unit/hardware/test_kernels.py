"""The GPU's kernels compared with plain torch: on a GPU compiled, elsewhere in Triton's interpreter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import grad, vmap
from torch.nn.functional import conv2d, cross_entropy, max_pool2d, one_hot

from sifu.core.keys import _GOLDEN, _MIX_1, CONSTANTS, Keys, _hash_word, _mix, _normal_quantile
from sifu.core.types import Clients
from sifu.federation.local.dual import DualTrainer
from sifu.federation.local.sgd import sgd_step
from sifu.models.cnn import NARROW, WIDE, Cnn
from sifu.models.flat import FlatModel
from sifu.models.layer_calls import LayerCalls
from sifu.models.logistic import Logistic
from sifu.models.paper import CnnCelebA, CnnCifar, CnnFashionMnist
from tests.conftest import tiny_federation
from tests.kernels import DEVICE, KERNELS, SmallCnn

pytestmark = KERNELS
Widths = tuple[int, int, int, int]


@pytest.fixture(autouse=True)
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three TF32 products for one, which round as float32 does."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


WIDTHS = (32, 64, 64, 64)


def network(channels: int, side: int, last_pool: int, widths: Widths = WIDTHS) -> tuple[FlatModel, SimpleNamespace]:
    """Two models of models/cnn.py."""
    return twin(Cnn(channels, side, 5, last_pool=last_pool, widths=widths), channels, side)


def twin(module: nn.Module, channels: int, side: int, masks: Keys | None = None) -> tuple[FlatModel, SimpleNamespace]:
    """Two models, each with three of seven images, and their logits and gradients by autograd; `masks` of dropout."""
    from sifu.models.stacked import StackedCnn

    model = FlatModel(module.to(DEVICE))
    generator = torch.Generator().manual_seed(0)
    weights = (torch.randn(2, model.num_weights, generator=generator) * 0.08).to(DEVICE)
    images = torch.randn(7, channels, side, side, generator=generator).to(DEVICE)
    rows, labels = torch.randint(7, (2, 3), generator=generator), torch.randint(5, (2, 3), generator=generator)
    rows, labels = rows.to(DEVICE), labels.to(DEVICE)

    def logits(row: Tensor, x: Tensor, key: Tensor | None) -> Tensor:
        with LayerCalls(key):
            return model.logits(row, x, training=key is not None)

    def loss(row: Tensor, x: Tensor, y: Tensor, key: Tensor | None) -> Tensor:
        return cross_entropy(logits(row, x, key), y)

    state, axis = (None, None) if masks is None else (masks.state, 0)

    return model, SimpleNamespace(
        net=StackedCnn(model, channels, side),
        weights=weights,
        images=images,
        rows=rows,
        labels=labels,
        logits=vmap(logits, in_dims=(0, 0, axis))(weights, images[rows], state),
        plain=vmap(model.logits)(weights, images[rows]),
        gradient=vmap(grad(loss), in_dims=(0, 0, 0, axis))(weights, images[rows], labels, state),
    )


@pytest.mark.parametrize(
    ("channels", "side", "last_pool", "widths"),
    [  # with odd sides, no pooling window covers the last line
        pytest.param(3, 18, 1, WIDTHS, marks=pytest.mark.second),
        (1, 19, 1, WIDTHS),
        pytest.param(1, 24, 2, WIDTHS, marks=pytest.mark.long),
        pytest.param(1, 18, 1, NARROW, marks=pytest.mark.long),
        pytest.param(3, 18, 1, WIDE, marks=pytest.mark.long),
    ],
    ids=["colour", "odd side", "pooled thrice", "narrow", "wide"],
)
def test_networks_agree_with_autograd(channels: int, side: int, last_pool: int, widths: Widths) -> None:
    _, case = network(channels, side, last_pool, widths)
    agrees_with_autograd(case)


LONG = pytest.mark.long  # whole images: minutes in the interpreter


@pytest.mark.parametrize(
    ("side", "hidden"), [(18, 64), pytest.param(32, 64, marks=LONG), pytest.param(32, 256, marks=LONG)]
)
def test_the_networks_of_cifar_agree_with_autograd(side: int, hidden: int) -> None:
    """Their third convolution has no ReLU: values and slopes below zero pass."""
    net = CnnCifar(3, 5, hidden)
    net.fc1 = nn.Linear(64 * (((side - 2) // 2 - 2) // 2 - 2) ** 2, hidden)
    _, case = twin(net, 3, side)
    done = agrees_with_autograd(case)
    assert (done.given[0] < 0).any()


@pytest.mark.parametrize("side", [16, pytest.param(64, marks=LONG)])
def test_the_network_of_celeba_agrees_with_autograd(side: int) -> None:
    """Padding, no ReLU at all, and fewer channels than a matrix unit has columns."""
    net = CnnCelebA(3, 5)
    net.fc = nn.Linear(32 * (side // 8) ** 2, 5)
    _, case = twin(net, 3, side)
    done = agrees_with_autograd(case)
    assert all((shown.images < 0).any() for shown in done.inputs)


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("side", [8, pytest.param(28, marks=LONG)])
def test_the_network_of_fashionmnist_agrees_with_autograd(side: int, *, drops: bool) -> None:
    """Padding, and dropout with the masks that a pass layer by layer draws."""
    masks = Keys.of([3, 4], DEVICE) if drops else None
    net = CnnFashionMnist(1, 5)
    net.fc1 = nn.Linear(64 * (side // 4) ** 2, 256)
    _, case = twin(net, 1, side, masks)
    done = agrees_with_autograd(case, masks)
    alive = case.net.forward(case.net.pack(case.weights), case.images, case.rows).given[1] > 0
    left_out = float((done.given[1][alive] == 0).float().mean())  # of some 750 results
    assert 0.05 < left_out < 0.15 if drops else left_out == 0


def test_parts_of_blocks_and_lines_that_no_window_covers() -> None:
    """Padding with an odd side, pooled; full layers of 20 and 100 results, in blocks of 32 and of twice 64."""
    _, case = twin(SmallCnn(7, 100, hidden=20), 1, 7)
    agrees_with_autograd(case)


def agrees_with_autograd(case: SimpleNamespace, masks: Keys | None = None) -> Any:
    """float32's rounding of some thousand terms: 1e-6 of the largest number. The pass forward."""
    packed = case.net.pack(case.weights)
    assert torch.equal(case.net.unpack(packed), case.weights)
    done = case.net.forward(packed, case.images, case.rows, masks=masks)
    ours, expected = (part.log_softmax(-1) for part in (done.logits, case.logits))  # one network does so itself
    torch.testing.assert_close(ours, expected, rtol=0, atol=2e-6 * float(expected.abs().max()))
    slope = (done.logits.softmax(-1) - one_hot(case.labels, done.logits.shape[-1])) / 3
    gradient = torch.zeros_like(packed)
    case.net.backward(packed, done, slope, gradient)
    scale = float(case.gradient.abs().max())
    torch.testing.assert_close(case.net.unpack(gradient), case.gradient, rtol=0, atol=2e-6 * scale)
    padding = torch.ones_like(packed, dtype=torch.bool)
    padding[:, case.net._places] = False
    assert not gradient[padding].any()  # steps of SGD must not change it
    predicted = case.net.predict(case.weights, case.images, case.rows)
    assert torch.equal(predicted, case.plain.argmax(-1))
    return done


@pytest.mark.parametrize("changes", [{}, {"clip": 0.5}, {"clip": 90.0, "weight_decay": 0.2, "momentum": 0.0}], ids=str)
def test_a_step_of_sgd_is_that_of_plain_torch(changes: dict[str, float]) -> None:
    """Rows of length 1,500: more than one block, and not a multiple of it."""
    from sifu.federation.local.stacked import sgd_step_on_gpu

    generator = torch.Generator().manual_seed(3)
    federation = tiny_federation(**changes)
    fast = [torch.randn(3, 1500, generator=generator).to(DEVICE) for _ in range(3)]
    plain = [part.clone() for part in fast]
    sgd_step_on_gpu(fast[0], fast[1], fast[2], federation)
    sgd_step(plain[0], plain[1], plain[2], federation)
    for ours, expected in zip(fast, plain, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-6)


def test_a_nan_is_not_hidden() -> None:
    """So that a run that diverges is noticed. The last pixel is in the last place of its window, layer after layer."""
    _, case = network(1, 18, 1)
    images = case.images.clone()
    images[case.rows[0, 0], :, -1, -1] = torch.nan
    logits = case.net.forward(case.net.pack(case.weights), images, case.rows).logits
    assert logits[0, 0].isnan().all()


def test_a_nan_in_any_place_of_a_window_is_its_maximum() -> None:
    """Image i has a NaN in the corner that place i of its only window sees, and no other place."""
    from sifu.hardware.kernels import convolution
    from sifu.hardware.kernels.layer import Input, Shape

    generator = torch.Generator().manual_seed(4)
    images, weight = torch.randn(4, 1, 4, 4, generator=generator), torch.randn(10, 16, generator=generator)
    images[torch.arange(4), 0, torch.tensor([0, 0, 3, 3]), torch.tensor([0, 3, 0, 3])] = torch.nan
    slope = torch.randn(4, 16, 1, 1, generator=generator)
    images.requires_grad_(), weight.requires_grad_()
    pooled = max_pool2d(conv2d(images, weight[:9].t().view(16, 1, 3, 3), weight[9]), 2)
    by_images, by_weight = torch.autograd.grad(pooled, (images, weight), slope)

    shown, own = images.detach().to(DEVICE).view(1, 4, 4, 4, 1), weight.detach().to(DEVICE)[None]
    layer, slopes = Shape(1, 4, 16, pool=2), slope.to(DEVICE).view(1, 4, 1, 1, 16)
    y, arg = convolution.forward(layer, Input(shown, None), own)
    assert y.isnan().all()
    assert [set(row.tolist()) for row in arg.view(4, 16)] == [{0}, {1}, {2}, {3}]
    dx, dw = convolution.input_gradient(layer, shown, slopes, arg, own, relu=False), torch.empty_like(own)
    convolution.weight_gradient(layer, Input(shown, None), slopes, arg, dw)
    torch.testing.assert_close(dx.cpu().view_as(by_images), by_images, rtol=0, atol=1e-5)
    torch.testing.assert_close(dw[0].cpu(), by_weight, rtol=0, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("changes", [{}, {"clip": 0.5}, {"weight_decay": 0.2, "clip": 0.7}], ids=str)
def test_logistic_regression_agrees_with_the_plain_steps(changes: dict[str, float]) -> None:
    """The same formulas in one kernel; 20 examples of 81 pixels fill none of its blocks."""
    generator = torch.Generator().manual_seed(1)
    model = FlatModel(Logistic((1, 9, 9), 5))
    images = torch.randn(2, 4, 20, 1, 9, 9, generator=generator)
    labels = torch.randint(5, (2, 4, 20), generator=generator)
    clients = Clients(images, labels, torch.full((2, 4), 20)).to(torch.device(DEVICE))
    trainer = DualTrainer(model, clients, tiny_federation(**changes), None)
    start = (torch.randn(2, model.num_weights, generator=generator) * 0.1).to(DEVICE)
    seeds, cohort = torch.tensor([1, 0]).to(DEVICE), torch.tensor([[0, 2, 3], [1, 2, -1]]).to(DEVICE)
    weight = (torch.rand(2, 3, 4, 20, generator=generator) / 20).to(DEVICE)
    plain = trainer._train_all(start, seeds, cohort, weight)
    torch.testing.assert_close(trainer._train_fused(start, seeds, cohort, weight), plain, rtol=1e-5, atol=1e-6)
    full = weight[:, :, :1].expand(-1, -1, 4, -1)  # full batches: one row of weights for all steps
    plain = trainer._train_all(start, seeds, cohort, full)
    torch.testing.assert_close(trainer._train_fused(start, seeds, cohort, full), plain, rtol=1e-5, atol=1e-6)


def test_logistic_predictions() -> None:
    from sifu.hardware.kernels.logistic import predict

    generator = torch.Generator().manual_seed(2)
    images, rows = torch.randn(30, 1, 9, 9, generator=generator), torch.randint(30, (2, 70), generator=generator)
    weights = torch.randn(2, 5 * 82, generator=generator)
    model = FlatModel(Logistic((1, 9, 9), 5))
    expected = vmap(model.logits)(weights, images[rows]).argmax(-1)
    assert torch.equal(predict(weights.to(DEVICE), images.to(DEVICE), rows.to(DEVICE)).cpu(), expected)


@pytest.mark.parametrize(
    ("state", "word"),
    [((3,), (3,)), ((3, 1), (3, 4)), ((3, 1), (7,)), ((3,), ()), ((1,), (1,)), ((3, 4, 1), (5,)), ((3, 1), (3,))],
    ids=str,
)
def test_hashing_gives_the_same_bits(state: tuple[int, ...], word: tuple[int, ...]) -> None:
    from sifu.hardware.kernels.hashing import fold

    keys = _mix(torch.arange(torch.Size(state).numel())).view(state)
    words = torch.arange(torch.Size(word).numel()).view(word) * 7 - 3
    expected = _mix(keys * _MIX_1 + _mix(words + _GOLDEN))
    assert torch.equal(fold(keys.to(DEVICE), words.to(DEVICE)).cpu(), expected)


@pytest.mark.parametrize("word", ["draw", 0, 3, -5])
def test_hashing_a_name_gives_the_same_bits(word: str | int) -> None:
    from sifu.hardware.kernels.hashing import fold_number

    state = Keys.of(range(300)).state
    expected = _mix(state * _MIX_1 + _hash_word(word))
    assert torch.equal(fold_number(state.to(DEVICE), _hash_word(word)).cpu(), expected)


@pytest.mark.parametrize(
    ("state", "count"),
    [((), 7), pytest.param((3,), 20_001, marks=pytest.mark.long), ((2,), 1025), ((2, 3), 1000), ((3,), 0)],
    ids=str,
)
def test_normal_numbers_have_the_same_bits(state: tuple[int, ...], count: int) -> None:
    from sifu.hardware.kernels.normal import normal

    keys = Keys(Keys.of(range(torch.Size(state).numel())).state.view(state))
    drawn = normal(keys.fold("draw").state.to(DEVICE), count, CONSTANTS)
    assert torch.equal(drawn.cpu(), keys.normal(count))


def test_normal_quantiles_of_the_far_tails_have_the_same_bits() -> None:
    """Below 1.4e-11 = exp(-25) another polynomial counts, which no draw of the test above reaches."""
    from sifu.hardware.kernels.normal import quantile

    below = torch.logspace(-15, -9, 200, dtype=torch.float64)
    p = torch.cat([below, 1 - below])
    assert torch.equal(quantile(p.to(DEVICE), CONSTANTS).cpu(), _normal_quantile(p))
