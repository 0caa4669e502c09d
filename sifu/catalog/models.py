"""Models by name, a line each. Read while the Snakefile is parsed: nothing heavy is imported here."""

from __future__ import annotations

from typing import NamedTuple


class ModelSpec(NamedTuple):
    builder: str  # "module:function", called with (shape, num_classes), gives a torch.nn.Module
    shape: tuple[int, int, int] | None = None  # the only input shape it takes; None: any
    kernels: str | None = None  # "module:class" of its twin for many models at once on a GPU; None: through vmap


_OTHERS_28, _OTHERS_64 = ("narrow", "wide", "pooled"), ("narrow", "wide", "unpooled")
_STACKED = "sifu.models.stacked:StackedCnn"

MODELS: dict[str, ModelSpec] = {
    "logistic": ModelSpec("sifu.models.logistic:Logistic"),
    "cnn28": ModelSpec("sifu.models.cnn:cnn28", (1, 28, 28), _STACKED),
    "cnn32": ModelSpec("sifu.models.cnn:cnn32", (3, 32, 32), _STACKED),
    "cnn64": ModelSpec("sifu.models.cnn:cnn64", (3, 64, 64), _STACKED),
    **{f"cnn28_{kind}": ModelSpec(f"sifu.models.cnn:cnn28_{kind}", (1, 28, 28), _STACKED) for kind in _OTHERS_28},
    **{f"cnn64_{kind}": ModelSpec(f"sifu.models.cnn:cnn64_{kind}", (3, 64, 64), _STACKED) for kind in _OTHERS_64},
    "resnet8": ModelSpec("sifu.models.resnet:resnet8"),
    "resnet20": ModelSpec("sifu.models.resnet:resnet20"),
}
