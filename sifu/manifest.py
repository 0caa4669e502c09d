"""The manifest of a run: settings, and for each block of seeds who made it, on what device, in how much time."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sifu import RULES_VERSION
from sifu.config import read_yaml
from sifu.docs.published import described
from sifu.errors import ConfigError, StoreError
from sifu.paths import FILES
from sifu.run import Run
from sifu.seeds import block_seeds
from sifu.settings import build
from sifu.store import read_stamp, write_text
from sifu.timing import Spell, busy_seconds, spell_of

MANIFEST = "manifest.json"
_JOINED = ("commit", "torch", "device")


def write_manifest(config: Path) -> Path:
    """Writes manifest.json into the results folder of a config; from then on that run counts as published."""
    folder = Path(build(Run, read_yaml(config), "").results)
    blocks = _blocks(folder)
    if not any(block["stage"] == "unlearn" for block in blocks):
        raise StoreError(f"nothing has been unlearned under {folder}: run make CONFIG={config} first")
    write_text(folder / MANIFEST, json.dumps(manifest(config, blocks), indent=1) + "\n")
    return folder / MANIFEST


def manifest(config: Path, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """What the run is of, and where each part of it comes from."""
    settings = described(config)
    made = {key: ", ".join(sorted({block[key] for block in blocks})) for key in _JOINED}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    head = {"config": config.name, "rules_version": RULES_VERSION} | made | {"settings_hash": digest}
    return head | settings | {"seconds": _seconds(blocks), "busy_seconds": _busy(blocks), "blocks": blocks}


def _seconds(blocks: list[dict[str, Any]]) -> dict[str, float]:
    """Wall seconds of all jobs on each device, of those that were timed."""
    return {device: round(sum(spell.seconds or 0.0 for spell in found), 2) for device, found in _spells(blocks).items()}


def _busy(blocks: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds in which each device had at least one job: several at once count once."""
    return {device: round(busy_seconds(found), 2) for device, found in _spells(blocks).items()}


def _spells(blocks: list[dict[str, Any]]) -> dict[str, list[Spell]]:
    spells: dict[str, list[Spell]] = {device: [] for device in sorted({block["device"] for block in blocks})}
    for block in blocks:
        spells[block["device"]].append(Spell(block["began"], block["seconds"]))
    return spells


def _blocks(folder: Path) -> list[dict[str, Any]]:
    """One entry a job of the run, in the order of the data's way: <stage>/<scenario>[/<variant>]/<block>."""
    stages = dict.fromkeys(name.removesuffix("_variant") for name in FILES)
    return [_entry(path, folder) for stage in stages for path in _tables(folder / stage, FILES[stage][0])]


def _tables(folder: Path, file: str) -> list[Path]:
    return sorted(path for path in folder.glob(f"**/{file}") if _is_block(path.parent.name))


def _is_block(name: str) -> bool:
    try:
        block_seeds(name)
    except ConfigError:
        return False
    return True


def _entry(path: Path, folder: Path) -> dict[str, Any]:
    stage, scenario, *variant, block = path.parent.relative_to(folder).parts
    stamp, seeds = read_stamp(path), block_seeds(block)
    named = {"stage": stage, "scenario": scenario, "variant": "/".join(variant), "seeds": [seeds[0], seeds[-1]]}
    made = {key: stamp.get(key, "unknown") for key in (*_JOINED, "code_hash")}
    return named | made | spell_of(path.parent)._asdict()
