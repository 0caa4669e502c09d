"""Rows that were made before gradients were clipped as in the released code's example."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sifu.docs.totals_in_words import listed
from sifu.replication.claims.stored_tables import DATASETS

_ROWS = ("train", "unlearn")


def not_clipped(plan: dict[str, Any], manifest: dict[str, Any] | None) -> list[str]:
    """The paper's scenarios that are clipped by today's config and have rows that were not; by their names."""
    if manifest is None:
        return []
    planned = {name: plan["scenarios"][name]["federation"]["clip"] for name in DATASETS if name in plan["scenarios"]}
    stored = manifest.get("block_settings", {})
    found = {
        block["scenario"]
        for block in manifest["blocks"]
        if block["stage"] in _ROWS and planned.get(block["scenario"]) is not None
        if stored.get(block["settings"], {}).get("federation", {}).get("clip", 0) is None
    }
    return [name for name in DATASETS if name in found]


def old_clipping(titles: Iterable[str]) -> str:
    """What that means for the rows of some datasets; nothing without any."""
    names = listed(list(titles))
    if not names:
        return ""
    return (
        f"Rows of {names} were made without the clipping of the code's example (norms above 10,000). There a model "
        "that explodes under its noise is lost, and counts as diverged. The released code may recover it."
    )
