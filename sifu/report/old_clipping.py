"""Rows that were made before gradients were clipped as in the released code's example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ROWS = ("train", "unlearn")


def not_clipped(scenarios: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> list[str]:
    """Of scenarios by their names, with today's settings: those that are clipped and have rows that were not."""
    if manifest is None:
        return []
    stored = manifest.get("block_settings", {})
    found = {
        block["scenario"]
        for block in manifest["blocks"]
        if block["stage"] in _ROWS
        if stored.get(block["settings"], {}).get("federation", {}).get("clip", 0) is None
    }
    return [name for name, plain in scenarios.items() if plain["federation"]["clip"] is not None and name in found]


def old_clipping(names: str) -> str:
    """What that means for the rows of some datasets, listed in words; nothing without any."""
    if not names:
        return ""
    return (
        f"Rows of {names} were made without the clipping of the code's example (norms above 10,000). There a model "
        "that explodes under its noise is lost, and counts as diverged. The released code may recover it."
    )
