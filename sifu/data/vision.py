"""torchvision, imported only where it is used: it takes a second, and its wheel may not fit the installed torch."""

from __future__ import annotations

import sys
from types import ModuleType

import torch

_library: torch.library.Library | None = None  # the declared operators exist as long as this object


def torchvision() -> ModuleType:
    """The torchvision module, also with a CPU build of torch.

    The wheel on the package index links CUDA libraries. With a CPU-only torch its compiled part does not load, and
    `import torchvision` fails because of an undeclared operator (pytorch/vision#8985). Datasets do not use these
    operators, so they are declared here and the import is repeated.
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


def without_checksums(dataset: type) -> type:
    """A torchvision dataset class that reads files without checking their md5."""
    changes: dict[str, object] = {"_check_integrity": lambda self: True}
    if hasattr(dataset, "meta"):
        changes["meta"] = {**dataset.meta, "md5": None}
    return type(dataset.__name__, (dataset,), changes)
