"""Compiles the GPU's kernels for a Hopper chip, without one: `python -m tests.compiled_kernels` prints each of them,
with the number of its versions and the most shared memory that one takes.

Triton's interpreter runs kernels as Python and takes more than its compiler does. So every launch is turned into a
compilation here; nothing runs, and results mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.func import grad, vmap
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from sifu.core.keys import CONSTANTS, Keys
from sifu.hardware.kernels import convolution, dense
from sifu.hardware.kernels.layer import Input, Shape
from sifu.models.cnn import Cnn
from sifu.models.flat import FlatModel
from sifu.models.layer_calls import LayerCalls
from sifu.models.paper import CnnCelebA, CnnCifar, CnnFashionMnist
from sifu.models.resnet import resnet8
from sifu.models.stacked import StackedCnn

_MOST = 227 * 1024  # bytes of shared memory that a program may take on a Hopper chip
_NETWORKS = {"FashionMNIST": (CnnFashionMnist(1, 10), 1, 28), "CIFAR": (CnnCifar(3, 100, 256), 3, 32)}
_NETWORKS |= {"CelebA": (CnnCelebA(3, 2), 3, 64), "cnn28": (Cnn(1, 28, 10), 1, 28)}


class _Hopper:
    """What the compiler asks of a GPU's driver."""

    utils = SimpleNamespace(get_device_properties=lambda _: {"max_shared_mem": _MOST, "warpSize": 32})

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: object = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


def _compile(kernel: Any, grid: object) -> Callable[..., None]:
    """In place of `kernel[grid]`: a launch that only compiles."""

    def launch(*args: object, **options: object) -> None:
        compiled = kernel.run(*args, grid=grid, warmup=True, **options)
        shared = compiled.metadata.shared
        assert shared <= _MOST, f"{kernel.__name__} takes {shared} bytes of shared memory"
        found.setdefault((kernel.fn.__module__, kernel.fn.__name__), set()).add((compiled.hash, shared))

    return launch


found: dict[tuple[str, str], set[tuple[str, int]]] = {}


def whole_network(name: str) -> None:
    """A step and a prediction of a network's own kernels."""
    module, channels, side = _NETWORKS[name]
    net = StackedCnn(FlatModel(module), channels, side)
    weights, images = torch.zeros(2, net.model.num_weights), torch.zeros(7, channels, side, side)
    packed, rows = net.pack(weights), torch.zeros(2, 20, dtype=torch.int64)
    done = net.forward(packed, images, rows, masks=Keys.of([1, 2]))
    net.backward(packed, done, torch.zeros_like(done.logits), torch.zeros_like(packed))
    net.predict(weights, images, rows)


def by_layer(module: nn.Module, channels: int) -> None:
    """A gradient of a network without kernels of its own."""
    model = FlatModel(module)

    def loss(weights: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        with LayerCalls(stacked=True):
            return model.logits(weights, images).square().sum()

    vmap(grad(loss))(torch.zeros(2, model.num_weights), torch.zeros(2, 4, channels, 32, 32))


def full_precision() -> None:
    """Products as three of TF32, in a layer of each kind."""
    torch.backends.cudnn.allow_tf32 = False
    layer, given, weight = Shape(16, 8, 16, pool=1), torch.zeros(2, 4, 8, 8, 16), torch.zeros(2, 145, 16)
    y, arg = convolution.forward(layer, Input(given, None), weight)
    convolution.weight_gradient(layer, Input(given, None), y, arg, weight)
    convolution.input_gradient(layer, given, y, arg, weight)
    given, weight = torch.zeros(2, 4, 64), torch.zeros(2, 65, 32)
    y = dense.forward(given, weight, relu=True)
    dense.weight_gradient(given, y, weight)
    dense.input_gradient(given, y, weight)
    by_layer(nn.Sequential(nn.Conv2d(16, 16, 3), nn.Conv2d(16, 16, 3)), 16)


def others() -> None:
    """Pooling, steps, norms, draws, and logistic regression."""
    from sifu.hardware.kernels import hashing, logistic, max_pool, norm, normal, sgd

    _, which = max_pool.forward(torch.zeros(2, 3, 4, 8, 8), 2)
    max_pool.gradient(torch.zeros(2, 3, 4, 4, 4), which, torch.Size((8, 8)), 2)

    rows, state = torch.zeros(3, 1500), torch.zeros(3, dtype=torch.int64)
    for factor in (None, rows[:, 0]):
        sgd.sgd_step(rows, rows, rows, factor, rate=0.1, momentum=0.9, decay=0.0)
    norm.row_norms(rows)
    hashing.fold(state, state)
    hashing.fold_number(state, 7)
    normal.normal(state, 10, CONSTANTS)
    normal.quantile(torch.zeros(3, dtype=torch.float64), CONSTANTS)
    logistic.predict(torch.zeros(2, 7850), torch.zeros(4, 1, 28, 28), torch.zeros(2, 5, dtype=torch.int64))
    for clip in (None, 0.5):
        descent = logistic.Descent(0.01, 0.9, 0.0, clip)
        data = torch.zeros(2, 100, 784), torch.zeros(2, 100, 100), torch.zeros(2, 100, dtype=torch.int64)
        logistic.train(*data, torch.zeros(2, 7850), state, state, torch.zeros(3, 5, 100), descent)


def main() -> None:
    """Compile all, and print them."""
    driver.set_active(_Hopper())
    JITFunction.__getitem__ = _compile
    torch.backends.cudnn.allow_tf32 = True
    for name in _NETWORKS:
        whole_network(name)
    by_layer(resnet8((3, 32, 32), 10), 3)
    others()
    full_precision()
    for (module, kernel), versions in sorted(found.items()):
        print(module.rpartition(".")[2], kernel, len(versions), max(shared for _, shared in versions))


if __name__ == "__main__":
    main()
