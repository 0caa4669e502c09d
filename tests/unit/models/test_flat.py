"""Models: the paper's sizes, and the flat view of a module."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sifu.catalog.datasets import DATASETS
from sifu.catalog.lookup import resolve
from sifu.catalog.models import MODELS
from sifu.core.keys import Keys
from sifu.errors import SifuError
from sifu.models.flat import FlatModel, build_model
from tests.conftest import DATASET_OF
from tests.reference import flat, load_flat

# weights and biases by hand: conv 9 x in x out + out, full in x out + out; 64 x 3 x 3, 64 x 4 x 4, 64 x 6 x 6 into fc1
SIZES = {
    "logistic": 784 * 10 + 10,
    "cnn28": (9 * 32 + 32) + (9 * 32 * 64 + 64) + (9 * 64 * 64 + 64) + (576 * 64 + 64) + (64 * 10 + 10),
    "cnn32": (9 * 3 * 32 + 32) + (9 * 32 * 64 + 64) + (9 * 64 * 64 + 64) + (1024 * 64 + 64) + (64 * 10 + 10),
    "cnn64": (9 * 3 * 32 + 32) + (9 * 32 * 64 + 64) + (9 * 64 * 64 + 64) + (2304 * 64 + 64) + (64 * 2 + 2),
}
SIZES |= {
    "cnn28_narrow": (9 * 16 + 16) + (9 * 16 * 32 + 32) + (9 * 32 * 32 + 32) + (288 * 32 + 32) + (32 * 10 + 10),
    "cnn28_wide": (9 * 64 + 64) + 2 * (9 * 64 * 64 + 64) + (576 * 128 + 128) + (128 * 10 + 10),
    "cnn28_pooled": SIZES["cnn28"] - 8 * 64 * 64,  # 64 x 1 x 1 into fc1
    "cnn64_narrow": (9 * 3 * 16 + 16) + (9 * 16 * 32 + 32) + (9 * 32 * 32 + 32) + (1152 * 32 + 32) + (32 * 2 + 2),
    "cnn64_wide": (9 * 3 * 64 + 64) + 2 * (9 * 64 * 64 + 64) + (2304 * 128 + 128) + (128 * 2 + 2),
    "cnn64_unpooled": SIZES["cnn64"] + 3 * 2304 * 64,  # 64 x 12 x 12 into fc1
}
BLOCK = lambda i, o: 9 * (i * o + o * o) + 4 * o + (i * o if i != o else 0)  # noqa: E731  # two of all, shortcut
STEM, HEAD = 9 * 16 + 2 * 16, 64 * 10 + 10  # grey images
SIZES |= {
    "resnet8": STEM + BLOCK(16, 16) + BLOCK(16, 32) + BLOCK(32, 64) + HEAD,
    "resnet20": STEM + 3 * BLOCK(16, 16) + BLOCK(16, 32) + 2 * BLOCK(32, 32) + BLOCK(32, 64) + 2 * BLOCK(64, 64) + HEAD,
}
SIZES |= {  # of the paper's repository; here all of images with ten classes, or two
    "cnn_fashionmnist": 10 * 32 + 289 * 64 + 3137 * 256 + 257 * 10,
    "cnn_cifar10": SIZES["cnn32"],
    "cnn_cifar100": 28 * 32 + 289 * 64 + 577 * 64 + 1025 * 256 + 257 * 10,
    "cnn_celeba": 28 * 8 + 73 * 16 + 145 * 32 + 2049 * 2,
}
SIZES |= {"variational": 785 * 2 * 32 + 33 * 10, "particles": 5 * SIZES["logistic"]}
EVERY_MODEL = pytest.mark.parametrize("name", list(MODELS))


@pytest.mark.parametrize("name", list(SIZES))
def test_number_of_weights(name: str) -> None:
    assert build_model(name, DATASETS[DATASET_OF[name]]).num_weights == SIZES[name]


def test_sizes_in_the_docstrings() -> None:
    for name in MODELS:
        docstring = resolve(MODELS[name].builder).__doc__
        assert name in SIZES
        size = SIZES[name] + 2 * 9 * 16 * name.startswith("resnet")  # said for images in colour
        size += 90 * 257 * (name == "cnn_cifar100")  # and for a hundred classes
        assert name == "logistic" or f"{size:,}" in docstring, name


def test_cnn32_for_100_classes() -> None:
    model = build_model("cnn32", DATASETS["cifar100"])
    assert model.num_weights == SIZES["cnn32"] + 90 * 65
    assert model.logits(torch.zeros(model.num_weights), torch.zeros(2, 3, 32, 32)).shape == (2, 100)


@EVERY_MODEL
def test_logits_are_the_modules_own(name: str) -> None:
    spec = DATASETS[DATASET_OF[name]]
    model = build_model(name, spec)
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(model.num_weights, generator=generator) / 20  # about as far as a network's start
    images = torch.randn(3, *spec.shape, generator=generator)
    torch.testing.assert_close(model.logits(weights, images), load_flat(model.module, weights).eval()(images))


@EVERY_MODEL
def test_init_is_keyed_and_in_torchs_range(name: str) -> None:
    model = build_model(name, DATASETS[DATASET_OF[name]])
    weights = model.init(Keys.of([0, 1]))
    assert torch.equal(weights[1], model.init(Keys.of([1]))[0])
    assert not torch.equal(weights[0], weights[1])
    for parameter, drawn in zip(model.names, model.split(weights[0]), strict=True):
        weight = model.module.get_parameter(parameter.replace("bias", "weight"))
        if weight.dim() == 1:  # a normalisation layer: ones and zeros
            assert torch.equal(drawn, torch.full_like(drawn, float("weight" in parameter)))
            continue
        bound = weight[0].numel() ** -0.5  # torch's default: U(-b, b), b = 1 / sqrt(fan in), for weight and bias
        assert float(drawn.abs().max()) <= bound
        if drawn.numel() > 1000:
            assert float(drawn.std()) == pytest.approx(bound / 3**0.5, rel=0.1)


def test_split_and_flat_agree() -> None:
    model = build_model("cnn28", DATASETS["mnist"])
    row = flat(model.module)
    for part, parameter in zip(model.split(row), model.module.parameters(), strict=True):
        assert torch.equal(part.view_as(parameter), parameter)


def test_layer_norms_by_hand() -> None:
    """(3, 4) and (5, 12): norms 5 and 13."""
    model = FlatModel(nn.Linear(2, 1, bias=True))
    assert model.layer_norms(torch.tensor([[3.0, 4.0, 12.0]])).tolist() == [[5.0, 12.0]]


def test_a_model_with_buffers_is_refused() -> None:
    with pytest.raises(SifuError, match=r"model Sequential contains BatchNorm2d \(1\), which mixes the examples"):
        FlatModel(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)))


def test_normalisation_layers_start_as_torch_starts_them() -> None:
    model = FlatModel(nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)))
    scale, shift = model.split(model.init(Keys.of([0, 1])))[2:]
    assert torch.equal(scale, torch.ones(2, 3))
    assert torch.equal(shift, torch.zeros(2, 3))


def test_a_normalisation_over_several_axes_does_too() -> None:
    model = FlatModel(nn.Sequential(nn.LayerNorm([2, 3]), nn.RMSNorm([2, 3])))
    assert model.init(Keys.of([0])).tolist() == [[1.0] * 6 + [0.0] * 6 + [1.0] * 6]


def test_a_part_in_another_mode_follows() -> None:
    """Whoever asks first: a part that its builder left in evaluation has dropout in training, too."""
    module = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    module[1].eval()
    assert FlatModel(module).draws_masks((4,))
