"""Rows that were made before gradients were clipped as in the released code's example."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sifu.config.search import FIRST_SEED

_CODE = "The paper's code, in its example, shortens gradients longer than 10,000."
_LOST = "a model that explodes under its noise counts as diverged there"
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
    old = {stage: _left_from_before(stage, scenarios, manifest) for stage in _BEFORE}
    left = [f"{_BEFORE[stage]} of {in_words(found)}" for stage, found in old.items() if found]
    rows = [f"{what} {in_words(found)}" for what, found in _by_share(names, manifest).items()]
    if not rows and not left:
        return ""
    clipped = {stage: since_clipped(stage, scenarios, manifest) for stage in _SINCE}
    since = [f"{_SINCE[stage]} of {in_words(found)}" for stage, found in clipped.items() if found]
    lost = f"were made without that: {_LOST}."
    main = [f"{_listed(rows)}{',' * (len(rows) > 1)} {lost}"] if rows else []
    also = [f"Without it were made{', too' * bool(rows)}: {'; '.join(left)}."] if left else []
    return " ".join([_CODE, *main, *([f"{_listed(since)} were made with it."] if since else []), *also])


def _by_share(names: list[str], manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Scenarios none of whose methods were clipped, and those of which some were, each with its words."""
    some = [name for name in names if _has_clipped(name, manifest)]
    whole = [name for name in names if name not in some]
    found = {"rows of": whole, f"{'those' if whole else 'rows'} of some methods on": some}
    return {words: part for words, part in found.items() if part}


def _listed(parts: list[str]) -> str:
    """The beginning of a sentence: `Rows of A, and alpha of B`."""
    text = ", and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return text[0].upper() + text[1:]


def not_clipped(scenarios: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> list[str]:
    """Those that are clipped today and have rows that were not."""
    if manifest is None:
        return []
    clipped = [name for name, plain in scenarios.items() if plain["federation"]["clip"] is not None]
    return [name for name in clipped if None in _clips(manifest, name, _ROWS)]


def pairs_not_clipped(scenarios: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> set[tuple[str, str]]:
    """Scenarios that are clipped today, and variants whose answers were not: some methods were run again."""
    if manifest is None:
        return set()
    return {
        (block["scenario"], block["variant"])
        for block in manifest["blocks"]
        if block["stage"] == "unlearn"
        and scenarios.get(block["scenario"], {}).get("federation", {}).get("clip") is not None
        and None in _clip(block, manifest)
    }


def since_clipped(stage: str, scenarios: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> list[str]:
    """Those of them whose blocks of this stage were all clipped."""
    clips = {name: _clips(manifest or {}, name, [stage]) for name in not_clipped(scenarios, manifest)}
    return [name for name, found in clips.items() if found and None not in found]


def _left_from_before(stage: str, scenarios: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    """Scenarios of which some main rows were clipped, and blocks of this stage were not."""
    today = [name for name, plain in scenarios.items() if plain["federation"]["clip"] is not None]
    clipped = [name for name in today if _has_clipped(name, manifest)]
    return [name for name in clipped if None in _clips(manifest, name, [stage])]


def _has_clipped(scenario: str, manifest: Mapping[str, Any]) -> bool:
    """Whether answers of some method were clipped."""
    return bool(_clips(manifest, scenario, ["unlearn"]) - {None})


def _clips(manifest: Mapping[str, Any], scenario: str, stages: Sequence[str]) -> set[float | None]:
    """The norms that gradients were clipped to in the scenario's blocks of these stages; None: not at all."""
    blocks = [block for block in manifest["blocks"] if _is_of(block, scenario, stages)]
    return {clip for block in blocks for clip in _clip(block, manifest)}


def _clip(block: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[float | None]:
    """The norm that a block's gradients were clipped to; empty where it is not known."""
    federation = manifest.get("block_settings", {}).get(block["settings"], {}).get("federation", {})
    return [federation["clip"]] if "clip" in federation else []


def _is_of(block: Mapping[str, Any], scenario: str, stages: Sequence[str]) -> bool:
    """Not the training that a search made for itself: the search says how it was made."""
    of_search = block["stage"] == "train" and block.get("seeds", [0])[0] >= FIRST_SEED
    return block["scenario"] == scenario and block["stage"] in stages and not of_search
