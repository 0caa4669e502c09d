"""docs/reproduction.md: each claim of the paper next to what is measured, from the tables of results/paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sifu.docs.datasets import CONFIG
from sifu.docs.parts import parts_table
from sifu.docs.searches import searches_section
from sifu.docs.settings import NOTE
from sifu.replication.claims import CLAIMS, PAPER, UNCHECKED, forgetting
from sifu.replication.claims.claim import Claim, Line, Measured, Verdict
from sifu.replication.claims.tables import BESIDE, DATASETS, Tables, read_tables
from sifu.replication.published import REPLICATION as RESULTS
from sifu.replication.published import described, read_manifest
from sifu.report.tables import markdown

_SHORT = {"share": "{:.1%}", "number": "{:.3f}", "times": "{:.3g}"}
_ENDLESS = 1e7  # as many times as that have an exponent
_LITTLE = 1e-4


def published(folder: Path) -> bool:
    """Whether a results folder is a finished replication: a manifest says so."""
    return (folder / "manifest.json").exists()


def reproduction_page(root: Path) -> str:
    """The whole page; what was not run says so."""
    folder, plan = root / RESULTS, described(root / CONFIG)
    there = published(folder)
    tables = read_tables(folder if there else folder / "none")
    titles = {name: scenario["label"] for name, scenario in plan["scenarios"].items()}
    labels = {name: variant["label"] for name, variant in plan["variants"].items()}
    found = {claim.name: claim.measure(tables) for claim in CLAIMS}
    parts = [
        NOTE.format(source=f"the tables of {RESULTS} (sifu/claims)"),
        "# What of the paper holds\n",
        _INTRODUCTION,
        "## What was run\n",
        _what_was_run(read_manifest(folder) if there else None, tables, titles),
        *([parts_table(root / CONFIG, folder, tables, titles, labels)] if there else []),
        "## Verdicts\n",
        _verdicts(found),
        "## Datasets side by side\n",
        _by_dataset(found, titles),
        "## The paper's claims\n",
        *(_section(claim, found[claim.name], titles) for claim in PAPER),
        "## What nobody checked\n",
        *(_section(claim, found[claim.name], titles) for claim in UNCHECKED),
        "## Searches of settings\n",
        searches_section(tables, titles, labels, plan),
    ]
    return "\n".join(parts).rstrip() + "\n"


_INTRODUCTION = """\
Means over seeds, with their 95% bootstrap intervals (percentiles; with few seeds they are too narrow). Rounds are those
of all requests of a seed, each to the target accuracy, beside scratch's in the same seed. A verdict follows from the
rule that stands with its claim, and from nothing else: **holds**, **holds in part**, **does not hold**, **not
testable**; beside it stands on how many datasets it could be judged. CelebA's terms forbid to pass it on; where it, or
another dataset, was not run, a claim about all datasets holds in part at best. MNIST by writer, a
natural partition that everybody can download, stands beside, but does not count in its place. Methods "as released"
follow the paper's code, but for what [design.md](design.md) lists and for settings that were searched (below);
where that code differs from what a method's own paper says, both are run. Tables and figures of all that follows:
[results/paper/report](../results/paper/report).

`make verify-paper` runs a few cells again and compares; a claim's own command repeats a cell behind it
(`SIFU_DATA_ROOT` names the folder of the datasets).
"""


_LIMIT = """\
A training or recovery that has not reached its target ends after the most rounds (the paper's limit is 10,000); what it
would have taken is more.
"""


def _table(rows: list[list[str]], *columns: str) -> str:
    return markdown(pd.DataFrame(rows, columns=list(columns)), "").lstrip()


def _what_was_run(manifest: dict[str, Any] | None, tables: Tables, titles: dict[str, str]) -> str:
    """Seeds, device and time of every planned scenario."""
    if manifest is None:
        return f"Nothing yet: `{RESULTS}` has no manifest (`make paper` runs it and writes one).\n"
    rows, blocks = [], manifest.get("blocks", [])
    for name, title in titles.items():
        seeds = tables.cells.loc[tables.cells["scenario"] == name, "seed"].nunique()
        jobs = [block for block in blocks if block["scenario"] == name]
        devices = ", ".join(sorted({block["device"] for block in jobs if block["stage"] in ("train", "unlearn")}))
        planned = manifest.get("scenarios", {}).get(name)
        most = f"{planned['stop']['max_rounds']:,}" if planned else "-"
        ran = [str(seeds), devices or "-", _time(_sum(jobs))] if seeds else ["not run", "-", "-"]
        rows.append([title, most, *ran])
    table = _table(rows, "scenario", "most rounds", "seeds", "device", "time")
    return f"{_made(manifest, blocks)}\n{_LIMIT}\n{table}"


def _made(manifest: dict[str, Any], blocks: list[dict[str, Any]]) -> str:
    """Where the run comes from, and how long all of it took on each device."""
    names = {"commit": "Commit", "settings_hash": "settings", "rules_version": "rules", "torch": "torch"}
    made = ", ".join(f"{title} {manifest.get(key, 'unknown')}" for key, title in names.items())
    busy = manifest.get("busy_seconds", {})
    whole = [
        f"{_time(seconds)} on {device}, in {_time(busy.get(device, seconds))} as several ran at once"
        for device, seconds in manifest.get("seconds", {}).items()
    ]
    untimed = sum(block["seconds"] is None for block in blocks)
    note = f" {untimed} of {len(blocks)} jobs were not timed." if untimed else ""
    link = f"[manifest](../{RESULTS}/manifest.json)"
    return f"{made}. Wall time of all jobs: {'; '.join(whole) or 'unknown'}.{note} Block by block: {link}.\n"


def _sum(jobs: list[dict[str, Any]]) -> float:
    return sum(job["seconds"] or 0.0 for job in jobs)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _verdicts(found: dict[str, list[Line]]) -> str:
    rows = [
        [_link(claim), f"**{claim.judge(lines).value}**", *_judged_on(lines), claim.number, _average(lines)]
        for claim, lines in _pairs(found)
    ]
    text = "What holding means on one dataset is said with each claim; of a claim about an average it is only the sign."
    counts = ("datasets judged", "holds on", "in part on", "not on")
    return f"{text}\n\n" + _table(rows, "claim", "verdict", *counts, "the paper", "average of those")


def _average(lines: list[Line]) -> str:
    """Of a claim about one: that of the datasets that were run."""
    whole = next((line for line in lines if line.scenario == ""), None)
    return _interval(whole)[0] if whole is not None else ""


def _pairs(found: dict[str, list[Line]]) -> list[tuple[Claim, list[Line]]]:
    return [(claim, found[claim.name]) for claim in CLAIMS]


def _judged_on(lines: list[Line]) -> list[str]:
    """On how many of the paper's datasets the verdict stands, and what it is on how many of them."""
    counted = [line.verdict for line in lines if line.counts]
    judged = [counted.count(verdict) for verdict in (Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS)]
    return [f"{sum(judged)} of {len(counted)}", *map(str, judged)]


def _link(claim: Claim) -> str:
    """To its section, by the name that GitHub gives it."""
    kept = "".join(sign for sign in claim.name.lower() if sign.isalnum() or sign in " -")
    return f"[{claim.name}](#{kept.replace(' ', '-')})"


def _by_dataset(found: dict[str, list[Line]], titles: dict[str, str]) -> str:
    """One row a claim: its judged number on each dataset."""
    names = (*DATASETS, *BESIDE, "")
    rows = []
    for claim in CLAIMS:
        first = {name: next((line for line in found[claim.name] if line.scenario == name), None) for name in names}
        rows.append([_link(claim), claim.number, *(_mean(line) for line in first.values())])
    heads = [titles.get(name, name) for name in names[:-1]]
    text = "The number that each claim is judged by; what it is of, its interval and its seeds stand with the claim."
    return f"{text}\n\n" + _table(rows, "claim", "the paper", *heads, "average")


def _mean(line: Line | None) -> str:
    if line is None:
        return ""
    if line.value is None or line.verdict is Verdict.NOT_TESTABLE:
        return _judged(line)
    return _number(line.value.mean, line.unit)


def _section(claim: Claim, lines: list[Line], titles: dict[str, str]) -> str:
    rows = [
        [titles.get(line.scenario, line.scenario) or "average", line.what, *_interval(line), _judged(line)]
        for line in lines
    ]
    parts = [
        f"### {claim.name}\n",
        f"> {claim.words} ({claim.place})\n",
        f"Verdict: **{claim.judge(lines).value}**. {claim.rule}\n",
        _table(rows, "dataset", "what", "mean [95% interval]", "seeds", "verdict"),
        f"```sh\n{claim.again}\n```\n",
    ]
    return "\n".join(parts)


def _judged(line: Line) -> str:
    """A scenario that stands beside, and a number that is only shown, have no verdict."""
    if line.verdict is not None:
        return line.verdict.value
    if line.value is not None:
        return "-"
    return (Verdict.NOT_TESTABLE if line.ran else Verdict.NOT_RUN).value


def _interval(line: Line) -> list[str]:
    value: Measured | None = line.value
    if value is None:
        return ["-", f"0 of {line.ran}" if line.ran else "0"]
    seeds = f"{value.seeds} of {line.ran}" if value.seeds < line.ran else str(value.seeds)
    mean, ends = _number(value.mean, line.unit), f"{_end(value.low, line.unit)}, {_end(value.high, line.unit)}"
    return [f"{mean} [{ends}]" if value.seeds > 1 else mean, seeds]


def _end(value: float, unit: str) -> str:
    """An end of an interval: where it would be rounded to a threshold, or over it, with the digits that tell."""
    short = _number(value, unit)
    if unit != "number" or float(short) not in (0.0, forgetting.BEYOND) or float(short) == value:
        return short
    return f"{value:.4f}" if abs(value) >= _LITTLE else f"{value:.0e}"


def _number(value: float, unit: str) -> str:
    """Never minus nothing; a large number has an exponent only where nobody would count its digits."""
    large = unit == "times" and 999.5 <= abs(value) < _ENDLESS
    text = f"{value:,.0f}" if large else _SHORT[unit].format(value)
    return text.removeprefix("-") if not text.strip("-0.%") else text
