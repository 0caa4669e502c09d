"""How a check says what to change."""

from __future__ import annotations

from torch import Tensor

from sifu.errors import SifuError


def require(holds: bool | Tensor, sentence: str) -> None:
    """Refuse with a sentence where something does not hold."""
    if not bool(holds):
        raise SifuError(sentence)
