"""docs/replication/index.md: the result in a box, the deviations from the paper, the verdicts, how it was run."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sifu.docs.deviations import deviations_table, in_short
from sifu.docs.measured_text import interval_text, p_text, table_text, time_text
from sifu.docs.replication_run import MeasuredRun, anchor
from sifu.docs.settings import NOTE
from sifu.docs.side_experiments import side_experiments_table
from sifu.docs.two_counts import two_counts
from sifu.replication.claims import bound, certificate, rounds, trade_off
from sifu.replication.claims.catalog import OPEN_QUESTIONS, PAPER
from sifu.replication.claims.claim import Claim, Line, average_line
from sifu.replication.claims.stored_tables import DATASETS, REFERENCE
from sifu.replication.claims.verdict import Verdict
from sifu.replication.manifest import CARRIED
from sifu.replication.published import CONFIG, NOT_RUN, REPLICATION
from sifu.store.paths import figure_file, report_folder


def index_page(run: MeasuredRun) -> str:
    """The whole page."""
    parts = [
        NOTE.format(source=f"the tables of {REPLICATION} (sifu/replication/claims)"),
        "# Replication of the SIFU paper\n",
        *_picture(run),
        _box(run),
        "## Deviations from the paper\n",
        "Where the paper's text leaves something open, or its code does something else, the code decides, as it made "
        "the figures. What is ours has a name of its own: scenarios such as `cifar10_disjoint`, corrected methods.\n",
        deviations_table(run),
        "## Verdicts\n",
        _VERDICTS,
        "### The paper's claims\n",
        _verdicts(run, PAPER),
        "### What the paper leaves open\n",
        _verdicts(run, OPEN_QUESTIONS),
        "## Certificates, counted before and now\n",
        two_counts(run),
        "## How it was run\n",
        _how_it_was_run(run),
    ]
    return "\n".join(parts)


def _picture(run: MeasuredRun) -> list[str]:
    """The opening picture, where it was drawn."""
    path = figure_file(report_folder(REPLICATION), "overview", "png")
    drawn = run.manifest is not None and (run.root / path).exists()
    return [f"![what every method costs, and whether the clients were forgotten](../../{path.as_posix()})\n"] * drawn


_VERDICTS = """\
A verdict follows from the rule of its claim and from nothing else: [claims.md](claims.md) has the quotes, rules,
numbers and intervals. `3 of 4 hold`: of the datasets that could be judged; of a claim about an average only the
sign is judged on one dataset. A claim about all five datasets holds in part at best while one of them is missing.
`undecided`: two kinds of intervals, or the correction for many claims, would say different things. `adjusted p`: the
p-value of the claim's test, after Holm's correction for all claims; a dash where its rule is no test.
"""


_JUDGED = (Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS, Verdict.UNDECIDED)


def _box(run: MeasuredRun) -> str:
    """The result in at most eight lines."""
    if run.manifest is None:
        return f"> {NOT_RUN}\n"
    counts = Counter(run.judgement(claim).verdict for claim in PAPER)
    verdicts = ", ".join(f"{verdict.value}: {counts[verdict]}" for verdict in (*_JUDGED, Verdict.NOT_TESTABLE))
    missing = ", ".join(run.titles[name] for name in DATASETS if not run.tables.ran(name, REFERENCE))
    saved, described = (_average(run, f"rounds saved by SIFU as {name}") for name in ("released", "described"))
    more = _average(run, "counted rounds of FedEraser as released beyond scratch's")
    strict = _average(run, "rounds saved by strict SIFU")
    lines = [
        f"**The paper's {len(PAPER)} claims**: {verdicts}." + (f" Not run: {missing}." if missing else ""),
        f"SIFU as released saves {saved} of scratch's rounds (the paper: {rounds.SIFU_SAVES.number}), SIFU as the text "
        f"describes it {described}.",
        f"FedEraser as released takes {more} more rounds than scratch, as its code counts them "
        f"(the paper: {rounds.FED_ERASER_TAKES_MORE.number}).",
        f"SIFU has the best trade-off on {_held(run, trade_off.BEST_ON_FOUR)} (the paper: 4 of 5).",
        f"Psi with B = 1 bounds alpha on {_held(run, bound.ALPHA_BELOW_PSI)} (the paper: on all).",
        "Counted strictly, for each client alone, SIFU's certificate holds on "
        f"{_held(run, certificate.SIFU_KEEPS_ITS_PROMISE)}; strict SIFU saves {strict} of scratch's rounds.",
        in_short(run),
    ]
    return "\n".join(f"> - {line}" for line in lines) + "\n"


def _average(run: MeasuredRun, what: str) -> str:
    line = run.line("", what)
    return interval_text(line.value, line.unit) if line is not None else "-"


def _held(run: MeasuredRun, claim: Claim) -> str:
    counts = Counter(line.verdict for line in run.of(claim) if line.counts)
    return f"{counts[Verdict.HOLDS]} of {sum(counts[verdict] for verdict in _JUDGED)} datasets"


def _verdicts(run: MeasuredRun, claims: tuple[Claim, ...]) -> str:
    rows = []
    for claim in claims:
        lines, average, judged = run.of(claim), average_line(run.of(claim)), run.judgement(claim)
        link = f"[{claim.name}](claims.md#{anchor(claim)})"
        measured = interval_text(average.value, average.unit) if average is not None else ""
        verdict = [f"**{judged.verdict.value}**", p_text(judged.adjusted)]
        rows.append([link, *verdict, _counted(lines), claim.number, measured])
    return table_text(rows, "claim", "verdict", "adjusted p", "datasets", "the paper", "average here")


def _counted(lines: list[Line]) -> str:
    """On how many of the judged datasets a claim holds, and on how many in part; how many could not be judged."""
    counts = Counter(line.verdict for line in lines if line.counts)
    judged = sum(counts[verdict] for verdict in _JUDGED)
    text = f"{counts[Verdict.HOLDS]} of {judged} hold{'s' if judged == 1 else ''}"
    words = {Verdict.IN_PART: "in part", Verdict.UNDECIDED: "undecided", Verdict.NOT_TESTABLE: "not testable"}
    for verdict, word in words.items():
        text += f", {counts[verdict]} {word}" if counts[verdict] else ""
    return text


def _how_it_was_run(run: MeasuredRun) -> str:
    """Commits, devices and times; then every scenario and side experiment."""
    if run.manifest is None:
        return f"{NOT_RUN}\n"
    folder = run.root / REPLICATION
    parts = [
        _provenance(run.manifest),
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


def _provenance(manifest: dict[str, Any]) -> str:
    """Where the run comes from, and how long all of it took on each device."""
    names = {"commit": "Commit", "settings_hash": "settings", "rules_version": "rules", "torch": "torch"}
    made = ", ".join(f"{title} {manifest.get(key, 'unknown')}" for key, title in names.items())
    busy, blocks = manifest.get("busy_seconds", {}), manifest.get("blocks", [])
    times = [
        f"{time_text(seconds)} on {device}, in {time_text(busy.get(device, seconds))} as several ran at once"
        for device, seconds in manifest.get("seconds", {}).items()
    ]
    untimed = sum(block["seconds"] is None for block in blocks)
    note = f" {untimed} of {len(blocks)} jobs were not timed." if untimed else ""
    link = f"[manifest](../../{REPLICATION.as_posix()}/manifest.json)"
    note += carried_note(blocks)
    return f"{made}. Wall time of all jobs: {'; '.join(times) or 'unknown'}.{note} Block by block: {link}.\n"


def carried_note(blocks: list[dict[str, Any]]) -> str:
    """Which scenarios have rows of older rules, whose certificates have to be counted again."""
    older = {block["scenario"]: block[CARRIED] for block in blocks if CARRIED in block and block["scenario"]}
    if not older:
        return ""
    names = ", ".join(f"{name} (rules {version})" for name, version in older.items())
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
