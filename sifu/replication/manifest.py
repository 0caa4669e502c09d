"""The manifest of a run: its settings, and for each block of seeds the commit, the device and the time."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sifu import RULES_VERSION
from sifu.config.blocks import block_seeds
from sifu.config.fields import build
from sifu.config.run import Run
from sifu.errors import StoreError
from sifu.plan.load import read_yaml
from sifu.plan.stage_spec import STAGES
from sifu.replication.published import described
from sifu.report.forgetting import TOGETHER
from sifu.report.packed import block_files, unpack
from sifu.store.bounded import open_parquet
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.parquet import read_stamp, read_table, readable, write_text
from sifu.store.paths import manifest_file
from sifu.store.timing import JobTime, busy_seconds, read_job_time

_JOINED = ("commit", "torch", "device")
_OF_MANY_MODELS = ("oracles", "atlas")  # stages whose tables say how many models they were made of
_OF_NO_SCENARIO = "null_space/*.parquet"
_FORGETTING = "forgetting.parquet"
NOT_RECORDED = "not recorded"  # of the time of models that a run kept no time of
CARRIED = "carried_from_rules"  # of tables that were made under older rules, and lack what has changed since


def write_manifest(config: Path) -> Path:
    """Write manifest.json into the results folder of a config; from then on that run counts as published."""
    folder = Path(build(Run, read_yaml(config), "").results)
    unpack(folder)
    blocks = jobs_of(folder)
    if not any(block["stage"] == "unlearn" for block in blocks):
        raise StoreError(f"nothing has been unlearned under {folder}: run make CONFIG={config} first")
    write_text(manifest_file(folder), json.dumps(manifest(config, blocks), indent=1) + "\n")
    return manifest_file(folder)


def manifest(config: Path, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings of the run, and where each block comes from."""
    settings = described(config)
    made = {key: ", ".join(sorted({block[key] for block in blocks})) for key in _JOINED}
    head = {"config": config.name, "rules_version": RULES_VERSION} | made | {"settings_hash": _digest(settings)}
    times = {"seconds": _seconds(blocks), "busy_seconds": _busy(blocks)} | counted_models(blocks)
    return head | settings | times | {"block_settings": _block_settings(blocks), "blocks": blocks}


def counted_models(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """How many models oracles and atlas are, and their seconds on each device; nothing of a stage without any."""
    found: dict[str, Any] = {}
    for stage in _OF_MANY_MODELS:
        own = [block for block in blocks if block["stage"] == stage]
        if own:
            found[stage] = {"models": sum(block["models"] for block in own), "seconds": _seconds(own)} | _untimed(own)
    return found


def _untimed(blocks: list[dict[str, Any]]) -> dict[str, str]:
    """Says of how many models the time is not known; nothing where it is of all."""
    lost = sum(block["models"] for block in blocks if block["seconds"] is None)
    if not lost:
        return {}
    whole = lost == sum(block["models"] for block in blocks)
    return {"time": NOT_RECORDED if whole else f"{NOT_RECORDED} for {lost:,} models"}


def _block_settings(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings of all blocks by their digest, each once; in the blocks the digest takes their place."""
    by_digest = {_digest(block["settings"]): block["settings"] for block in blocks}
    for block in blocks:
        block["settings"] = _digest(block["settings"])
    return dict(sorted(by_digest.items()))


def _digest(settings: Any) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def _seconds(blocks: list[dict[str, Any]]) -> dict[str, float]:
    """Wall seconds of all timed jobs on each device."""
    return {device: round(sum(job.seconds or 0.0 for job in jobs), 2) for device, jobs in _job_times(blocks).items()}


def _busy(blocks: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds in which each device had at least one job: several at once count once."""
    return {device: round(busy_seconds(jobs), 2) for device, jobs in _job_times(blocks).items()}


def _job_times(blocks: list[dict[str, Any]]) -> dict[str, list[JobTime]]:
    timed = [block for block in blocks if block["seconds"] is not None]
    jobs: dict[str, list[JobTime]] = {device: [] for device in sorted({block["device"] for block in timed})}
    for block in timed:
        jobs[block["device"]].append(JobTime(block["began"], block["seconds"]))
    return jobs


def jobs_of(folder: Path) -> list[dict[str, Any]]:
    """One entry a job of the run, stage by stage: <stage>/<scenario>[/<variant>]/<block>."""
    stages = [spec for spec in STAGES.values() if spec.jobs != "once" and spec.tables and not spec.folder]
    paths = [path for spec in stages for path in block_files(folder, spec.name, spec.outputs[0])]
    entries = [block_entry(path, folder) for path in (*paths, *sorted(folder.glob(_OF_NO_SCENARIO)))]
    entries += _without_tables(folder)
    return entries + [entry for path in block_files(folder, "forgetting", _FORGETTING) for entry in _gone(path, folder)]


def _without_tables(folder: Path) -> list[dict[str, Any]]:
    """The jobs whose files are too large to be kept, by the times that were, and the training that they began with."""
    entries = []
    for time in sorted(folder.glob("counterfactual/*/*/time.json")):
        place = time.parent.relative_to(folder)
        training = folder / "train" / place.relative_to("counterfactual") / "cells.parquet"
        if training.exists():
            entries.append(
                block_entry(training, folder) | {"stage": place.parts[0]} | read_job_time(time.parent)._asdict()
            )
    return entries


def _gone(path: Path, folder: Path) -> list[dict[str, Any]]:
    """The jobs of oracles whose margins were not kept, by the table that was made of them and the times that were."""
    models = _mapping(path, read_stamp(path).get("notes") or "{}").get("oracles")
    named, entries = folder / "oracles" / path.parent.parent.name, []
    if not isinstance(models, dict):  # an earlier version, which did not note its blocks
        models = {} if list(named.glob("*/margins.parquet")) else {path.parent.name: _models_of(path)}
    for name, count in models.items():
        own = named / name
        if type(count) is not int or (own / "margins.parquet").exists():
            continue
        seeds = block_seeds(name)
        place = {"stage": "oracles", "seeds": [seeds[0], seeds[-1]], "models": count}
        entries.append(block_entry(path, folder) | place | read_job_time(own)._asdict())
    return entries


def _models_of(path: Path) -> int:
    """The models that a table `forgetting` was made of: of two worlds, of each variant after each request. Those
    that diverged are not counted.
    """
    rows = read_table(path, FORGETTING)
    return int(2 * rows.loc[rows["client"] == TOGETHER, "models"].sum())


def block_entry(path: Path, folder: Path) -> dict[str, Any]:
    """Where one table of a results folder comes from: commit, device, code, settings, time."""
    stage, *parts = path.parent.relative_to(folder).parts
    scenario, *variant = parts[:-1] or [""]
    stamp = read_stamp(path)
    named = {"stage": stage, "scenario": scenario, "variant": "/".join(variant), "seeds": _seeds(path)}
    made: dict[str, Any] = {key: stamp.get(key, "unknown") for key in (*_JOINED, "code_hash")}
    if CARRIED in stamp:
        made[CARRIED] = stamp[CARRIED]
    notes = _mapping(path, stamp.get("notes") or "{}")
    if "added" in notes:  # methods that were run later: sifu/replication/add_part.py
        made["added"] = notes["added"]
    models = notes.get("models")
    if models is not None and type(models) is not int:
        raise StoreError(f"{path} does not say how many models it holds")
    made |= {} if models is None else {"models": models}
    settings = {"settings": _mapping(path, stamp.get("settings", "{}"))}
    return named | made | settings | read_job_time(path.parent)._asdict()


def _mapping(path: Path, text: str) -> dict[str, Any]:
    """A mapping in the stamp of a table."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        raise StoreError(f"{path} does not say with which settings it was made")
    return plain


def _seeds(path: Path) -> list[int]:
    """The first and the last seed of a table: side experiments may take only some of a block's. Of a table over seeds:
    those of its block.
    """
    with readable(path), open_parquet(path) as file:
        if "seed" not in file.schema_arrow.names:
            block = block_seeds(path.parent.name)
            return [block[0], block[-1]]
        seeds = file.read(["seed"]).column("seed").to_pandas()
    return [int(seeds.min()), int(seeds.max())] if len(seeds) else []
