"""CIFAR-10 with clients that share images, as in the paper's code, next to CIFAR-10 with disjoint clients."""

from __future__ import annotations

import pandas as pd

from sifu.docs.measured_text import interval_text, table_text
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import share_of_scratch
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables
from sifu.report.floor import AGAIN

SHARED, DISJOINT = "cifar10", "cifar10_disjoint"
_NAMES = {"sifu_released": "SIFU as released", "sifu": "SIFU as described", "fine_tuning": "fine-tuning"}
_WORDS = """\
The paper's code lets clients draw the same image, and draws who holds what once for all seeds: that made its figures,
so its scenarios have that partition here. Scratch then still knows images of forgotten clients that others hold, too.
With disjoint clients, drawn anew for every seed, it cannot. Accuracies are those on the clients of the first request,
rounds those of all requests; means over seeds with their 95% intervals (bootstrap; after `t` Student's).
"""


def two_partitions(run: MeasuredRun) -> str:
    """A row a number, a column a partition; a sentence where neither was run."""
    ran = [name for name in (SHARED, DISJOINT) if run.tables.ran(name, REFERENCE)]
    if not ran:
        return f"{_WORDS}\nNot run.\n"
    columns = [_numbers(run.tables, name) for name in (SHARED, DISJOINT)]
    rows = [[what, *(_cell(column[what], unit) for column in columns)] for what, unit in _units().items()]
    again = [beyond_scratch(run.tables.first_request, name, AGAIN).abs() for name in (SHARED, DISJOINT)]
    rows.append(["floor: absolute gap of scratch, run again", *(_cell(values, "number") for values in again)])
    return f"{_WORDS}\n{table_text(rows, 'number', 'shared images', 'disjoint clients')}"


def _units() -> dict[str, str]:
    """Every number with its unit, in the order of the rows."""
    saved = {f"rounds saved by {label}": "share" for label in _NAMES.values()}
    known = {f"accuracy of {label} on forgotten clients, minus scratch's": "number" for label in _NAMES.values()}
    return {"accuracy of scratch on forgotten clients": "number"} | known | saved


def _numbers(tables: StoredTables, scenario: str) -> dict[str, pd.Series]:
    """The values of every number by seed."""
    first = tables.first_request
    scratch = first.values(scenario, REFERENCE, "accuracy", "forgotten")
    found = {"accuracy of scratch on forgotten clients": scratch}
    for variant, label in _NAMES.items():
        known = f"accuracy of {label} on forgotten clients, minus scratch's"
        found[known] = beyond_scratch(first, scenario, variant)
        found[f"rounds saved by {label}"] = 1 - share_of_scratch(tables, scenario, variant)
    return found


def _cell(values: pd.Series, unit: str) -> str:
    return interval_text(Measured.of(values), unit) if len(values) else "not run"
