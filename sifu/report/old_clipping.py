"""Rows that were made before gradients were clipped as in the released code's example."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_ROWS = ("train", "unlearn")
_SINCE = {"sweep": "the sweeps of sigma", "request_sets": "the sets of requests"}  # may be run again before them
_BEFORE = {  # may be left from before, where the main rows were run again
    "search": "the searches of methods' settings",
    "alpha": "alpha",
    "alpha_sweep": "alpha with other settings",
    **_SINCE,
}


def old_clipping(
    scenarios: Mapping[str, Any], manifest: Mapping[str, Any] | None, in_words: Callable[[list[str]], str]
) -> str:
    """Which rows those are and what it means: of scenarios by their names, with today's settings."""
    if manifest is None:
        return ""
    names = not_clipped(scenarios, manifest)
    main = (
        f"Rows of {in_words(names)} were made without the clipping of the code's example (norms above 10,000). A model "
        "that explodes under its noise is lost there, and counts as diverged."
    )
    clipped = {stage: since_clipped(stage, scenarios, manifest) for stage in _SINCE}
    since = " and ".join(f"{_SINCE[stage]} of {in_words(found)}" for stage, found in clipped.items() if found)
    old = {stage: _left_from_before(stage, scenarios, manifest) for stage in _BEFORE}
    left = " and ".join(f"{_BEFORE[stage]} of {in_words(found)}" for stage, found in old.items() if found)
    sentences = [main] if names else []
    sentences += [f"With the clipping were made: {since}."] if since else []
    alone = "Without the clipping of the code's example (norms above 10,000) were made:"
    return " ".join([*sentences, *([f"{'So were' if names else alone} {left}."] if left else [])])


def not_clipped(scenarios: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> list[str]:
    """Those that are clipped today and have rows that were not."""
    if manifest is None:
        return []
    clipped = [name for name, plain in scenarios.items() if plain["federation"]["clip"] is not None]
    return [name for name in clipped if None in _clips(manifest, name, _ROWS)]


def since_clipped(stage: str, scenarios: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> list[str]:
    """Those of them whose blocks of this stage were clipped."""
    names = not_clipped(scenarios, manifest)
    return [name for name in names if manifest and _clips(manifest, name, [stage]) - {None}]


def _left_from_before(stage: str, scenarios: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    """Scenarios whose main rows were clipped, and whose blocks of this stage were not."""
    new = set(scenarios) - set(not_clipped(scenarios, manifest))
    clipped = [name for name in scenarios if name in new and scenarios[name]["federation"]["clip"] is not None]
    return [name for name in clipped if None in _clips(manifest, name, [stage])]


def _clips(manifest: Mapping[str, Any], scenario: str, stages: Sequence[str]) -> set[float | None]:
    """The norms that gradients were clipped to in the scenario's blocks of these stages; None: not at all."""
    stored = manifest.get("block_settings", {})
    found = [stored.get(block["settings"], {}) for block in manifest["blocks"] if _is_of(block, scenario, stages)]
    return {settings["federation"]["clip"] for settings in found if "clip" in settings.get("federation", {})}


def _is_of(block: Mapping[str, Any], scenario: str, stages: Sequence[str]) -> bool:
    return block["scenario"] == scenario and block["stage"] in stages
