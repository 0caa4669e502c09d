"""Unlearning for Flower: a strategy that remembers what it needs to forget clients (docs/flower.md).

`strategy = sifu.flower.Unlearning(FedAvg(), certificate=Certificate(sigma=0.05), store="store")`
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sifu.config.certificate import Certificate
    from sifu.flower.answer import Answer
    from sifu.flower.identity import identify
    from sifu.flower.strategy import Unlearning

__all__ = ["Answer", "Certificate", "Unlearning", "identify"]

# imported when they are used: checking a log needs neither Flower nor torch
_OFFERED = {
    "Answer": "sifu.flower.answer",
    "Certificate": "sifu.config.certificate",
    "Unlearning": "sifu.flower.strategy",
    "identify": "sifu.flower.identity",
}


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _OFFERED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(_OFFERED[name]), name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "flwr":
                raise
            from sifu.errors import SifuError

            raise SifuError("Flower is not installed: pip install '.[flower]' in the folder of the suite") from None


def __dir__() -> list[str]:
    return __all__
