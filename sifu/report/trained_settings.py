"""The settings that a stored training had, where its scenario has others today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PARTS = ("partition", "federation", "stop")


def as_trained(plain: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """The `plain` settings of a scenario, with what the stamp of its training says of them: `stored`.

    Keys that the stamp does not have are newer than it, and as they are today.
    """
    made = {key: plain[key] | stored[key] for key in _PARTS if key in plain and key in stored}
    return {**plain, **made} | ({"model": stored["model"]} if "model" in stored else {})


def settings_of_training(manifest: Mapping[str, Any], scenario: str) -> Mapping[str, Any]:
    """The settings of a scenario's training in a manifest, of its first block; empty where it has none."""
    stored = manifest.get("block_settings", {})
    blocks = [block for block in manifest["blocks"] if (block["stage"], block["scenario"]) == ("train", scenario)]
    found = [stored.get(block["settings"], {}) for block in blocks if not block.get("variant")]
    return found[0] if found else {}
