"""torchvision, imported only where it is used: it costs a second, and its wheel may not fit the torch beside it."""

from __future__ import annotations

import sys
from types import ModuleType

import torch

_library: torch.library.Library | None = None  # the operators live as long as this does


def torchvision() -> ModuleType:
    """The torchvision module, also beside a CPU build of torch.

    The wheel on the package index links CUDA libraries. Beside a CPU-only torch its compiled part does not load and
    `import torchvision` fails over an undeclared operator (pytorch/vision#8985). Datasets need none of that: declare
    the operators and import again.
    """
    global _library
    try:
        import torchvision as module
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        _library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in ("nms", "qnms"):
            _library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision as module
    return module


def unverified(dataset: type) -> type:
    """A torchvision dataset class that reads files without comparing them with the published checksums."""
    changes: dict[str, object] = {"_check_integrity": lambda self: True}
    if hasattr(dataset, "meta"):
        changes["meta"] = {**dataset.meta, "md5": None}
    return type(dataset.__name__, (dataset,), changes)
