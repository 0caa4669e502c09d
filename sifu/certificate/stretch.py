"""Rounds that an accountant counts together: those with the same clients."""

from __future__ import annotations

from typing import NamedTuple


class Stretch(NamedTuple):
    """Rounds with the same clients."""

    clients: int  # that could be sampled
    rounds: int


Stretches = tuple[Stretch, ...]
