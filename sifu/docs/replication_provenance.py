"""docs/replication/run.md: commits, devices and times of the replication, scenario by scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sifu.docs.measured_text import table_text, time_text
from sifu.docs.replication_run import MeasuredRun
from sifu.docs.settings import NOTE
from sifu.docs.side_experiments import side_experiments_table
from sifu.replication.manifest import CARRIED, NOT_RECORDED
from sifu.replication.published import CONFIG, NOT_RUN, REPLICATION


def provenance_page(run: MeasuredRun) -> str:
    """The whole page."""
    note = NOTE.format(source=f"the tables of {REPLICATION}")
    return "\n".join([note, "# How the replication was run\n", _how_it_was_run(run)])


def _how_it_was_run(run: MeasuredRun) -> str:
    """Commits, devices and times; then every scenario and side experiment."""
    if run.manifest is None:
        return f"{NOT_RUN}\n"
    folder = run.root / REPLICATION
    parts = [
        provenance_text(run.manifest, run.titles),
        _RERUN,
        _scenarios(run, run.manifest),
        side_experiments_table(run.root / CONFIG, folder, run.tables, run.titles, run.labels),
    ]
    return "\n".join(parts)


_RERUN = f"""\
`make verify-paper` runs a few cells again and compares them ([reproduce.md](../reproduce.md)). Tables and figures:
[report](../../{REPLICATION.as_posix()}/report). Settings and their searches: [searches.md](searches.md). A run that has
not reached its target ends after the maximum rounds (the paper's limit is 10,000).
"""


def provenance_text(manifest: dict[str, Any], titles: Mapping[str, str]) -> str:
    """Where the run comes from, and how long all of it took on each device."""
    names = {"commit": "Commit", "settings_hash": "settings", "rules_version": "rules", "torch": "torch"}
    made = ", ".join(f"{title} {manifest.get(key, 'unknown')}" for key, title in names.items())
    busy, blocks = manifest.get("busy_seconds", {}), manifest.get("blocks", [])
    took = manifest.get("seconds", {})
    times = [_time(device, seconds, busy.get(device, seconds)) for device, seconds in took.items()]
    untimed = sum(block["seconds"] is None for block in blocks)
    note = f" {untimed} of {len(blocks)} jobs were not timed." if untimed else ""
    link = f"[manifest](../../{REPLICATION.as_posix()}/manifest.json)"
    note += _without_oracles(blocks, titles) + carried_note(blocks, titles)
    return f"{made}. Wall time of all jobs: {'; '.join(times) or 'unknown'}.{note} Block by block: {link}.\n"


def _time(device: str, seconds: float, busy: float) -> str:
    """How long the jobs of a device took, and in which time, where several ran at once."""
    taken, within = time_text(seconds), time_text(busy)
    return f"{taken} on {device}" + ("" if taken == within else f", in {within} as several ran at once")


def _without_oracles(blocks: list[dict[str, Any]], titles: Mapping[str, str]) -> str:
    """Whose models of the twin test the time lacks: margins are too large to be kept, and some runs kept no times."""
    oracles = [block for block in blocks if block["stage"] == "oracles"]
    asked, timed = (
        {block["scenario"] for block in blocks if block["stage"] == "forgetting"},
        {block["scenario"] for block in oracles if block["seconds"] is not None},
    )
    lost = sorted(asked - timed)
    if not lost:
        return ""
    count = sum(block["models"] for block in oracles if block["scenario"] in lost)
    models, names = f"{count:,} models" if count else "models", "; ".join(titles.get(name, name) for name in lost)
    return (
        f" The {models} of the twin test (stage `oracles`) of {names} are not in this time: theirs was {NOT_RECORDED}."
    )


def carried_note(blocks: list[dict[str, Any]], titles: Mapping[str, str]) -> str:
    """Which scenarios have rows of older rules, whose certificates have to be counted again."""
    older = {block["scenario"]: block[CARRIED] for block in blocks if CARRIED in block and block["scenario"]}
    if not older:
        return ""
    names = ", ".join(f"{titles.get(name, name)} (rules {version})" for name, version in older.items())
    return (
        f" Made under older rules and carried over: {names}. Costs and accuracies mean the same there; what a "
        "certificate is worth has to be counted again, and is empty."
    )


def _scenarios(run: MeasuredRun, manifest: dict[str, Any]) -> str:
    """Maximum rounds, seeds, device and time of every planned scenario."""
    rows, blocks, cells = [], manifest.get("blocks", []), run.tables.cells
    for name, title in run.titles.items():
        seeds = cells.loc[cells["scenario"] == name, "seed"].nunique()
        jobs = [block for block in blocks if block["scenario"] == name]
        devices = ", ".join(sorted({block["device"] for block in jobs if block["stage"] in ("train", "unlearn")}))
        planned = manifest.get("scenarios", {}).get(name)
        limit = f"{planned['stop']['max_rounds']:,}" if planned else "-"
        time = time_text(sum(job["seconds"] or 0.0 for job in jobs))
        ran = [str(seeds), devices or "-", time] if seeds else ["not run", "-", "-"]
        rows.append([title, limit, *ran])
    return table_text(rows, "scenario", "maximum rounds", "seeds", "device", "time")
