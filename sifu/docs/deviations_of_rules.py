"""Deviations in rules: when accuracy is evaluated, when a run ends, and how many runs there are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sifu.docs.deviation import NO_ROWS, Deviation
from sifu.docs.measured_text import number_text
from sifu.docs.replication_run import MeasuredRun
from sifu.docs.run_so_far import so_far
from sifu.replication.claims.bound import FULL, JUDGED, held_with_everyone, points_below
from sifu.replication.claims.sigma import SWEPT
from sifu.replication.claims.stored_tables import DATASETS

_PAPERS_LIMIT = 10_000  # rounds
_PSI = {"the cohort": JUDGED, "shares of all clients": "published"}


def _seeds(run: MeasuredRun) -> str:
    """How many seeds each dataset has, and each side experiment."""
    found = so_far(run.tables, run.titles, run.labels)
    others = found.in_part | dict.fromkeys(found.not_run, "not run")
    words = {run.titles[name]: found.seeds.get(run.titles[name]) for name in DATASETS}
    shown = ", ".join(f"{title} {count or f'({others[title]})'}" for title, count in words.items())
    swept = run.tables.sweep.loc[run.tables.sweep["variant"] == SWEPT, "seed"].nunique()
    sets = run.tables.sets["seed"].nunique()
    return f"{shown}; sigma sweep {swept}, other sets of requests {sets}"


def _bounded(run: MeasuredRun) -> str:
    """At how many points each of the paper's Psi is a bound, dataset by dataset, and where the theorem holds."""
    shares = [f"by {name} at {_points_below(run, rule)}" for name, rule in _PSI.items()]
    held, points = held_with_everyone(run.tables)
    everyone = f"alpha <= Psi at {held:,} of {points:,} points" if points else "not run"
    return (
        f"Points with alpha <= Psi: {'; '.join(shares)}. Theorem 1 is about full participation (`{FULL}`, single "
        f"clients: {everyone}). What the code's function adds in rounds without the client was not measured."
    )


def _points_below(run: MeasuredRun, rule: str) -> str:
    lines = {run.titles[name]: run.line(name, points_below(rule)) for name in DATASETS}
    found = {title: line.value.mean for title, line in lines.items() if line and line.value}
    return ", ".join(f"{number_text(share, 'share')} on {title}" for title, share in found.items()) or NO_ROWS


def _limits(run: MeasuredRun) -> str:
    """Where fewer rounds are allowed than in the paper, by the config."""
    scenarios, side = run.plan["scenarios"], run.plan["side_experiments"]
    limits = {run.titles[name]: scenarios[name]["stop"]["max_rounds"] for name in _papers(run)}
    sweeps = side["sigma_sweep"] or []
    listed = sweeps if isinstance(sweeps, list) else [sweeps]
    papers: dict[str, Any] = next((sweep for sweep in listed if sweep["variant"] == SWEPT), {})
    for title, sweep in {"sigma sweep": papers, "alpha under other settings": side["alpha_sweep"] or {}}.items():
        limits[title] = sweep.get("rounds") or _PAPERS_LIMIT
    fewer = [f"{title} {rounds:,}" for title, rounds in limits.items() if rounds < _PAPERS_LIMIT]
    return f"The same, but: {'; '.join(fewer)}" if fewer else "The same"


def _papers(run: MeasuredRun) -> list[str]:
    """The paper's scenarios: its datasets, plain and watermarked."""
    marked = [f"{name}_watermark" for name in DATASETS]
    return [*DATASETS, *(name for name in marked if name in run.plan["scenarios"])]


def has_epochs(scenario: Mapping[str, Any]) -> bool:
    """Whether clients take batch after batch of a shuffle, in place of new ones from all their examples."""
    federation, examples = scenario["federation"], scenario["partition"].get("examples") or math.inf
    return federation.get("batches") != "fresh" and federation["batch_size"] < examples


def _batches(run: MeasuredRun) -> str:
    """Which scenarios have the code's batches, where a batch is not all of a client's examples."""
    epochs = [run.titles[name] for name in _papers(run) if has_epochs(run.plan["scenarios"][name])]
    if not epochs:
        return "The same"
    return (
        f"{'; '.join(epochs)}: batch after batch of a shuffle, so that every example has its turn "
        "(`federation.batches: fresh` is the code's way)"
    )


def _budgets(run: MeasuredRun) -> str:
    """What a time limit is a share of, and whether the target ends a recovery before."""
    spent = [run.titles[n] for n in DATASETS if run.plan["scenarios"][n]["stop"].get("budget_ends") != "target"]
    if not spent:
        return "Shares of the training's client steps; the target ends a recovery, too"
    return (
        f"Shares of the training's client steps. {', '.join(spent)}: all of them are spent, also after the target "
        "(`stop.budget_ends: target` is the code's way)"
    )


def _momentum(run: MeasuredRun) -> str:
    """The momentum of the paper's datasets, by the config."""
    found = {run.plan["scenarios"][name]["federation"]["momentum"] for name in DATASETS}
    return f"As in the code ({', '.join(f'{value:g}' for value in sorted(found))})"


def _without_momentum(run: MeasuredRun) -> str:
    """At how many points Psi by the cohort is a bound without momentum, where that was run."""
    bounds = run.tables.bounds
    rows = bounds[(bounds["rule"] == JUDGED) & (bounds["change"] == "no_momentum")]
    parts = {run.titles[name]: rows[rows["scenario"] == name] for name in DATASETS}
    shares = {title: part["held"].sum() / part["points"].sum() for title, part in parts.items() if len(part)}
    words = ", ".join(f"{number_text(share, 'share')} on {title}" for title, share in shares.items()) or NO_ROWS
    without = f"Points with alpha <= Psi by the cohort, without momentum: {words}."
    return f"With momentum Theorem 1 does not make Psi a bound. {without}"


RULES = (
    Deviation(
        "Momentum",
        "Text: none; Table 2 has no column for it, and Theorem 1 is about SGD. Code: 0.9, in every local training.",
        _momentum,
        _without_momentum,
    ),
    Deviation(
        "Batches",
        "Code: every step draws a batch from all examples of the client, so that some repeat within a round.",
        _batches,
    ),
    Deviation(
        "When accuracy is evaluated",
        "Code: every 20 rounds, and every 10, 5, 2 and 1 from 5, 2.5, 1 and 0.5 percentage points below the target on",
        "The same; FedEraser's recovery, which the code does not count from zero, is evaluated at its start, too.",
        "FedEraser may end up to 19 rounds earlier. Not measured.",
    ),
    Deviation(
        "End of SIFU's recovery",
        "Code: with `compute_diff` SIFU ends at multiples of 100 rounds only. Its script for Figure 2 sets that.",
        "As all methods do",
        "Figure 2's recoveries end by their time limits as well. Of other figures it is not known. Not measured.",
    ),
    Deviation(
        "Time limits",
        "Shares of the training's time. Code: of its rounds, and one round more; a recovery that meets the target "
        "before ends there.",
        _budgets,
        "Does not depend on the machine. Calibration counts, and so do spare clients of a strict certificate. What "
        "rounds after the target do to Figure 2 was not measured.",
    ),
    Deviation("Maximum rounds", f"{_PAPERS_LIMIT:,}", _limits, "Rounds of runs that stop there are lower bounds."),
    Deviation(
        "alpha and Psi",
        "Code: SIFU weighs by shares of all clients (1/M), as the text does. A function that nothing "
        "calls weighs by the cohort (1/N and 1/N - 1/M). It takes the client to be in every round: where it is not, "
        "the whole step divided by N - 1 is added, though the client did nothing; for a request of ten clients it "
        "divides by N - 10. What measured alpha is not in the code.",
        "The claim is judged by the cohort's weights, in rounds in which the client takes part; shares of all clients "
        "are shown. alpha is measured with refilled seats, while both of the paper's Psi leave them empty.",
        _bounded,
    ),
    Deviation(
        "Seeds",
        "10. Code: a seed is that of the initial model alone; batches and the noise of the first request begin alike "
        "in all of them, and the sampling of clients has none.",
        _seeds,
        "Fewer seeds, wider intervals. Here a seed decides all draws but who holds what, each anew.",
    ),
    Deviation(
        "Precision",
        "Not said",
        "TF32 in the products of networks on a GPU",
        "[performance.md](../performance.md) compares it with float32.",
    ),
)
