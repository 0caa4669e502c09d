"""What happens when a model's forward pass calls torch: some calls are answered by the suite.

- Dropout draws its masks from keys, `torch.randn_like` its numbers, so that a client's training can be repeated.
- Any other random draw is refused: it has no key.
- On a GPU, layers with weights are computed by kernels for many models at once (models/many.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from sifu.errors import SifuError
from sifu.models import many

Call = Callable[..., Any]


class NoKey(SifuError):
    """A random draw that the suite does not know: the end of a sentence about a model."""


class LayerCalls(TorchFunctionMode):
    """One forward pass of a model in training; `key` is that of its dropout masks, None: there are none.

    `stacked`: the pass is that of many models, on a GPU.
    """

    def __init__(self, key: Tensor | None = None, *, stacked: bool = False) -> None:
        super().__init__()
        self.key, self.stacked = key, stacked
        self.masks = 0  # drawn so far, masks and normal numbers

    def __torch_function__(
        self, func: Call, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if func in _DROPOUTS:
            named |= {"training": named.pop("train")} if "train" in named else {}  # as torch.dropout calls it
            return self._dropout(func, *args, **named)
        if func is torch.randn_like:
            return self._normal(*args, **named)
        if func in _UNKEYED:
            raise NoKey(_NO_KEY.format(name=func.__name__))
        if self.stacked and func in _LAYERS:
            answer = _LAYERS[func](*args, **named)
            if answer is not NotImplemented:
                return answer
        return func(*args, **named)

    def _dropout(
        self, func: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        """The mask is drawn for each number, or for each channel of each example (dropout of features)."""
        if not training or p == 0:
            return input
        if self.key is None:
            raise NoKey(_NO_KEY.format(name=func.__name__))
        shape = input.shape[:2] + (1,) * (input.dim() - 2) if func in _FEATURES else input.shape
        mask = many.keyed_mask(self.key, self.masks, torch.Size(shape).numel(), 1 - p)
        self.masks += 1
        return torch.where(mask.view(shape), input / (1 - p) if p < 1 else input, 0.0)

    def _normal(self, input: Tensor) -> Tensor:
        """Standard normal numbers, one for each of `input`; those of the first examples are the same in any batch."""
        from sifu.core.keys import Keys

        if self.key is None:
            raise NoKey(_NO_KEY.format(name="randn_like"))
        drawn = Keys(self.key).fold("normal", self.masks).normal(input.numel())
        self.masks += 1
        return drawn.to(input.dtype).view(input.shape)


_NO_KEY = (
    "draws random numbers ({name}) that have no key, so its training could not be repeated: "
    "use nn.Dropout, nn.Dropout2d or torch.randn_like(x), and dropout of functions with training=self.training"
)
# a module calls a function of torch.nn.functional, other code may call what is below it
_FEATURES = {F.dropout1d, F.dropout2d, F.dropout3d, torch.feature_dropout, torch.feature_dropout_}
_DROPOUTS = {F.dropout, torch.dropout, torch.dropout_} | _FEATURES
_UNKEYED = {
    torch.alpha_dropout, torch.alpha_dropout_, torch.feature_alpha_dropout, torch.feature_alpha_dropout_,
    F.alpha_dropout, F.feature_alpha_dropout, F.rrelu, F.gumbel_softmax,
    torch.rrelu, torch.rrelu_, torch.bernoulli, torch.multinomial, torch.normal, torch.poisson,
    torch.rand, torch.randn, torch.randint, torch.randperm, torch.rand_like, torch.randint_like,
    Tensor.bernoulli_, Tensor.bernoulli, Tensor.uniform_, Tensor.normal_, Tensor.exponential_, Tensor.random_,
    Tensor.multinomial, Tensor.cauchy_, Tensor.geometric_, Tensor.log_normal_,
}  # fmt: skip


def _conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    settings = [_same(value) for value in (stride, 0 if padding == "valid" else padding, dilation)]
    if groups != 1 or input.dim() != 4 or None in settings or not _fits(input, weight):
        return NotImplemented
    return many.apply(many.Convolution(*settings), input, weight, *_given(bias))  # type: ignore[arg-type]


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if input.dim() < 2 or weight.dim() != 2 or not _fits(input, weight):
        return NotImplemented
    return many.apply(many.FullLayer(), input, weight, *_given(bias))


def _max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    size = _same(kernel_size)
    plain = _same(padding) == 0 and _same(dilation) == 1 and not ceil_mode and not return_indices
    apart = stride is None or stride == [] or _same(stride) == size
    if size is None or size > _MAX_WINDOW or not plain or not apart or input.dim() != 4 or not _fits(input, input):
        return NotImplemented
    return many.apply(many.MaxPool(size), input)


def _group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    if weight is None or bias is None or input.dim() < 3 or not _fits(input, weight):
        return NotImplemented
    return many.apply(many.GroupNorm(num_groups, eps), input, weight, bias)


def _layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    if weight is None or bias is None or weight.numel() > _MAX_ROW:
        return NotImplemented
    if input.dim() <= weight.dim() or not _fits(input, weight):
        return NotImplemented
    return many.apply(many.LayerNorm(eps), input, weight, bias)


_MAX_ROW = 16384  # numbers that one program normalises at once
_MAX_WINDOW = 11  # the place of a maximum in its window is one byte
_LAYERS: dict[Call, Call] = {
    torch.conv2d: _conv2d,
    F.linear: _linear,
    F.max_pool2d: _max_pool2d,
    torch.max_pool2d: _max_pool2d,
    F.group_norm: _group_norm,
    torch.group_norm: _group_norm,
    F.layer_norm: _layer_norm,
    torch.layer_norm: _layer_norm,
}


def _same(value: Any) -> int | None:
    """The one value of a setting for lines and columns; None if they differ, or it is a word."""
    pair = (value, value) if isinstance(value, int) else tuple(value)
    return pair[0] if all(isinstance(part, int) and part == pair[0] for part in pair) else None


def _given(bias: Tensor | None) -> tuple[Tensor, ...]:
    return () if bias is None else (bias,)


def _fits(x: Tensor, weight: Tensor) -> bool:
    return x.dtype == weight.dtype == torch.float32
