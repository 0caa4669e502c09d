"""Measured numbers as text: means, intervals, verdicts, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from sifu.replication.claims.claim import Line
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import DATASETS
from sifu.replication.claims.verdict import Verdict
from sifu.report.tables import markdown

_SHORT = {"share": "{:.1%}", "number": "{:.3f}", "times": "{:.3g}"}
_LARGE = 1e7  # from here on ratios have an exponent
_SMALL = 1e-4


def table_text(rows: list[list[str]], *columns: str) -> str:
    """A Markdown table, without a caption."""
    return markdown(pd.DataFrame(rows, columns=list(columns)), "").lstrip()


def dataset_names(names: Sequence[str], titles: Mapping[str, str]) -> str:
    """Some of the paper's datasets by their titles, or `all five datasets`."""
    return "all five datasets" if list(names) == list(DATASETS) else ", ".join(titles[name] for name in names)


def interval_text(value: Measured | None, unit: str) -> str:
    """`mean [low, high; t low, high]`, with Student's interval where there are few seeds; a dash without a value. The
    range of seeds has round brackets: `mean (seeds low to high)`.

    The mean alone for one seed, unless it is a share, whose exact interval says how little that is.
    """
    if value is None:
        return "-"
    mean = number_text(value.mean, unit)
    if value.seeds == 1 and value.low == value.high:
        return mean
    if value.is_range:
        return f"{mean} (seeds {end_text(value.low, unit)} to {end_text(value.high, unit)})"
    ends = [_ends(value, unit), *([f"t {_ends(value.student, unit)}"] if value.student else [])]
    return f"{mean} [{'; '.join(ends)}]"


def _ends(value: Measured, unit: str) -> str:
    return f"{end_text(value.low, unit)}, {end_text(value.high, unit)}"


def p_text(p: float | None) -> str:
    """A p-value; a dash where a rule is no test."""
    if p is None:
        return "-"
    return "< 0.0001" if p < _SMALL else f"{p:.2g}"


def end_text(value: float, unit: str) -> str:
    """An end of an interval: with more digits where rounding would move it onto a threshold, or across."""
    short = number_text(value, unit)
    if unit != "number" or float(short) not in (0.0, BEYOND) or float(short) == value:
        return short
    return f"{value:.4f}" if abs(value) >= _SMALL else f"{value:.0e}"


def number_text(value: float, unit: str) -> str:
    """A number with the digits of its unit (share | number | times); never minus zero."""
    large = unit == "times" and 999.5 <= abs(value) < _LARGE
    text = f"{value:,.0f}" if large else _SHORT[unit].format(value)
    return text.removeprefix("-") if not text.strip("-0.%") else text


def verdict_text(line: Line) -> str:
    """The verdict on a line; a dash where a number is only shown."""
    if line.verdict is not None:
        return line.verdict.value
    if line.value is not None:
        return "-"
    return (Verdict.NOT_TESTABLE if line.ran else Verdict.NOT_RUN).value


def seeds_text(line: Line) -> str:
    """How many seeds a line is measured on, of those that were run."""
    seeds = line.value.seeds if line.value is not None else 0
    return f"{seeds} of {line.ran}" if seeds < line.ran else str(seeds)


def time_text(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
