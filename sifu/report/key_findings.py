"""Four findings of a run: what forgets cheaply, what SIFU costs, what does not forget, which certificates survive."""

from __future__ import annotations

from typing import NamedTuple

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import FORGOTTEN, IN_PART, NOT_FORGOTTEN, TWINS
from sifu.report.looked_good import forgot, looked_good, surely_forgot
from sifu.report.standings import BROKEN, EXACT, FOR_ONE, KEPT, TRAIN_AGAIN, UNCOUNTED, Standing, without_uncounted

_TOLD = (FORGOTTEN, IN_PART, NOT_FORGOTTEN)  # grades that say something
_LEFT_OUT = " Methods that fail the twin test of the same kind of training are left out."
_NO_PROOF = " By accuracy: the twin test has not shown it, and accuracy alone is no proof."


class Finding(NamedTuple):
    """A head of a few words, and the sentences with the numbers."""

    head: str
    text: str


def key_findings(plan: ReportPlan, rows: list[Standing]) -> list[Finding]:
    """At most four, each from the rows of the scenarios that the picture shows."""
    rows = [row for row in rows if plan.methods[row.variant] not in TRAIN_AGAIN]
    found = [_cheapest(plan, rows), _sifu(plan, rows), _remembered(plan, rows), _certificates(plan, rows)]
    return [finding for finding in found if finding]


def _cheapest(plan: ReportPlan, rows: list[Standing]) -> Finding | None:
    """On each dataset the cheapest method whose clients were forgotten, in all seeds; none that fails the twin test
    there.
    """
    good, sure = [row for row in forgot(plan, rows) if row.in_all_seeds], surely_forgot(plan, rows)
    told = dict.fromkeys(row.scenario for row in rows if row.has_cost and row.grade in _TOLD)
    best = {name: _lowest_cost([row for row in good if row.scenario == name]) for name in told}
    if not best:
        return None
    words = "; ".join(f"{plan.titles[name]}: {_with_cost(plan, row, sure)}" for name, row in best.items())
    notes = _LEFT_OUT if any(row.by == TWINS for row in rows) else ""
    notes += _NO_PROOF if any(row and row not in sure for row in best.values()) else ""
    text = "Cheapest method with forgotten clients, in client steps relative to training again from scratch"
    return Finding(_head([row for row in best.values() if row], sure), f"{text}: {words}.{notes}")


def _lowest_cost(rows: list[Standing]) -> Standing | None:
    return min(rows, key=lambda row: row.cost, default=None)


def _with_cost(plan: ReportPlan, row: Standing | None, sure: list[Standing]) -> str:
    """A method, its cost, and whether accuracy alone says that it forgot."""
    if row is None:
        return "none"
    return f"{plan.labels[row.variant]}, {row.cost:.0%}{'' if row in sure else ' (by accuracy)'}"


def _head(best: list[Standing], sure: list[Standing]) -> str:
    """What the cheapest methods say together; `sure`: rows that do not rest on accuracy alone."""
    below = [row for row in best if row.cost < 1]
    if not below:
        return "No method forgets for less than a training."
    start = "Forgetting" if any(row in sure for row in below) else "Judged by accuracy, forgetting"
    return f"{start} need not cost a training."


def _sifu(plan: ReportPlan, rows: list[Standing]) -> Finding | None:
    """What each variant of SIFU costs, in how many scenarios its clients were forgotten, where it does not recover."""
    words, cheaper = [], []
    good, sure = forgot(plan, rows), surely_forgot(plan, rows)
    rows = [row for row in rows if plan.methods[row.variant] == "sifu"]
    for variant in plan.labels:
        own = [row for row in rows if row.variant == variant and row.has_cost]
        if own:
            cheaper.append(all(row.cost < 1 for row in own))
            words.append(f"{plan.labels[variant]} {_costs(own)} ({_forgot(own, good, sure)})")
    if not words:
        return None
    head = "SIFU costs less than a training" + ("." if all(cheaper) else ", but not by every count.")
    lost = _by_method(plan, rows, [row.compared < row.seeds for row in rows])
    return Finding(
        head if any(cheaper) else "SIFU does not always cost less than a training.",
        f"Of scratch's client steps: {'; '.join(words)}." + (f" Not all seeds recover: {lost}." if lost else ""),
    )


def _costs(rows: list[Standing]) -> str:
    low, high = f"{min(row.cost for row in rows):.0%}", f"{max(row.cost for row in rows):.0%}"
    return low if low == high else f"{low} to {high}"


def _forgot(rows: list[Standing], good: list[Standing], sure: list[Standing]) -> str:
    """In how many of the scenarios that can tell the clients were forgotten, and whether accuracy alone says so."""
    told = [row for row in rows if row.grade in _TOLD]
    if not told:
        return "whether it forgets cannot be told"
    forgotten = [row for row in told if row in good]
    weak = sum(row not in sure for row in forgotten)
    how = ", by accuracy" if weak == len(forgotten) else f", {weak} of them by accuracy"
    scenarios = "scenario" if len(told) == 1 else "scenarios"
    return f"forgotten in {len(forgotten)} of {len(told)} {scenarios}{how if weak else ''}"


def _remembered(plan: ReportPlan, rows: list[Standing]) -> Finding | None:
    """How many methods fail the twin test, which remember by accuracy, and which of them accuracy alone lets pass."""
    by_accuracy = [row for row in rows if row.by != TWINS and row.has_cost]
    words = _by_method(plan, by_accuracy, [row.grade is NOT_FORGOTTEN for row in by_accuracy])
    failing, misjudged = _failing(plan, rows), looked_good(plan, rows)
    texts = [failing, f"By accuracy clients were not forgotten by {words}." if words else None, misjudged]
    remembered = any(row.has_cost and row.grade is NOT_FORGOTTEN for row in rows)
    head = "Some methods do not forget." if remembered else "No method was found that does not forget."
    return Finding(head, " ".join(text for text in texts if text)) if any(texts) else None


def _failing(plan: ReportPlan, rows: list[Standing]) -> str | None:
    """How many methods fail the twin test of each scenario that has one; the leaderboard has their names."""
    words = []
    for scenario in dict.fromkeys(row.scenario for row in rows if row.by == TWINS):
        own = [row for row in rows if row.scenario == scenario and row.by == TWINS]
        failed = sum(row.grade is NOT_FORGOTTEN for row in own)
        words.append(f"{failed} of {len(own)} methods in {plan.titles[scenario]}")
    return f"By the twin test clients were not forgotten by {'; '.join(words)}." if words else None


def _certificates(plan: ReportPlan, rows: list[Standing]) -> Finding | None:
    """Which promises survive, for whom, and which do not; of those that the run planned to count."""
    rows = [row for row in without_uncounted(plan, rows) if row.certificate]
    worth = {
        "Kept for all clients of a request": (EXACT, KEPT),
        "Only for each client alone": (FOR_ONE,),
        "Broken": (BROKEN,),
        "Not counted": (UNCOUNTED,),
    }
    parts = []
    for title, kinds in worth.items():
        words = _by_method(plan, rows, [_worth(row) in kinds for row in rows])
        parts += [f"{title}: {words}."] if words else []
    broken = any(_worth(row) == BROKEN for row in rows)
    head = "Some certificates do not survive." if broken else "No certificate was found broken."
    return Finding(head, " ".join(parts)) if parts else None


def _worth(row: Standing) -> str:
    """What is left of a row's certificate; nothing where none is promised."""
    return row.certificate.worth if row.certificate else ""


def _by_method(plan: ReportPlan, rows: list[Standing], wanted: list[bool]) -> str:
    """Labels of the methods with wanted rows, each with the names of its scenarios where these are not all."""
    words = []
    for variant, label in plan.labels.items():
        own = [(row, yes) for row, yes in zip(rows, wanted, strict=True) if row.variant == variant]
        found = [plan.titles[row.scenario] for row, yes in own if yes]
        if found:
            words.append(label if len(found) == len(own) else f"{label} ({'; '.join(found)})")  # names have commas
    return "; ".join(words)
