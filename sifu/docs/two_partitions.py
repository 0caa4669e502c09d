"""CIFAR-10 with clients that share images, as in the paper's code, next to CIFAR-10 with disjoint clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from sifu.docs.measured_text import interval_text, table_text
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.labels import in_words
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import saved_words, share_of_scratch
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables
from sifu.report.floor import AGAIN

SHARED, DISJOINT = "cifar10", "cifar10_disjoint"
_NAMES = ("sifu_released", "sifu", "fine_tuning")
_WORDS = """\
The paper's code lets clients draw the same image, and draws who holds what once for all seeds: that made its figures,
so its scenarios have that partition here. Scratch then still knows images of forgotten clients that others hold, too.
With disjoint clients, drawn anew for every seed, it cannot. Accuracies are those on the clients of the first request,
rounds those of all requests; means over seeds with their 95% intervals (bootstrap; after `t` Student's).
"""


class Number(NamedTuple):
    """A row of the table."""

    what: str
    unit: str
    variant: str  # whose answers it is about
    values: Callable[[StoredTables, str], pd.Series]  # by seed, of a scenario


def _beyond(tables: StoredTables, scenario: str, variant: str) -> pd.Series:
    """Accuracy on the clients of the first request, minus scratch's."""
    return beyond_scratch(tables.first_request, scenario, variant)


def _saved(tables: StoredTables, scenario: str, variant: str) -> pd.Series:
    return 1 - share_of_scratch(tables, scenario, variant)


_SCRATCH = Number(
    "accuracy of scratch on forgotten clients",
    "number",
    REFERENCE,
    lambda tables, name: tables.first_request.values(name, REFERENCE, "accuracy", "forgotten"),
)
_KNOWN = [
    Number(
        f"accuracy of {in_words(variant)} on forgotten clients, minus scratch's",
        "number",
        variant,
        partial(_beyond, variant=variant),
    )
    for variant in _NAMES
]
_SAVED = [Number(saved_words(variant), "share", variant, partial(_saved, variant=variant)) for variant in _NAMES]
_FLOOR = Number(
    "floor: absolute gap of scratch, run again",
    "number",
    AGAIN,
    lambda tables, name: _beyond(tables, name, AGAIN).abs(),
)


def two_partitions(run: MeasuredRun) -> str:
    """A row a number, a column a partition; a sentence where neither was run."""
    ran = [name for name in (SHARED, DISJOINT) if run.tables.ran(name, REFERENCE)]
    if not ran:
        return f"{_WORDS}\nNot run.\n"
    rows = [
        [number.what, *(_cell(run.tables, scenario, number) for scenario in (SHARED, DISJOINT))]
        for number in (_SCRATCH, *_KNOWN, *_SAVED, _FLOOR)
    ]
    table = table_text(rows, "number", "shared images", "disjoint clients")
    return f"{_WORDS}{_also_differ(run.plan['scenarios'])}\n{table}"


def _also_differ(scenarios: dict[str, Any]) -> str:
    """A sentence where the two scenarios differ in more than the partition; nothing where they do not."""
    shared, disjoint = (scenarios.get(name) for name in (SHARED, DISJOINT))
    if shared is None or disjoint is None:
        return ""
    words = [
        f"`{part}.{key}` is {value} with shared images, {disjoint[part][key]} with disjoint clients"
        for part in ("federation", "stop")
        for key, value in shared[part].items()
        if value != disjoint[part][key]
    ]
    return f"The two differ in more than the partition: {'; '.join(words)}.\n" if words else ""


def _cell(tables: StoredTables, scenario: str, number: Number) -> str:
    """The number with its intervals, or why there is none."""
    values = number.values(tables, scenario)
    if len(values):
        return interval_text(Measured.of(values), number.unit)
    if not tables.ran(scenario, number.variant):
        return "not run"
    missed = not len(tables.finished(scenario, number.variant, REFERENCE))
    return "target missed" if missed else "not measured"
