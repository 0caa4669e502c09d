"""A benchmark suite for federated unlearning.

As a library: `training = sifu.train(images, labels)`, `answer = training.forget([3])` (docs/library.md).
"""

import importlib
from typing import TYPE_CHECKING

from sifu.version import __version__

if TYPE_CHECKING:
    from sifu.errors import SifuError
    from sifu.library.answer import Answer
    from sifu.library.train import train
    from sifu.library.training import Training

__all__ = ["RULES_VERSION", "Answer", "SifuError", "Training", "__version__", "train"]

RULES_VERSION = "0.3"
"""Results made under the same major.minor are comparable; stamped in every table."""

# imported when they are used: every job and the Snakefile import this file, and no stage depends on the library
_LIBRARY = {
    "Answer": "sifu.library.answer",
    "SifuError": "sifu.errors",
    "Training": "sifu.library.training",
    "train": "sifu.library.train",
}


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _LIBRARY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_LIBRARY[name]), name)


def __dir__() -> list[str]:
    return __all__
