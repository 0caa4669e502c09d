"""Labels are plain text: whatever a config or a table calls something, no program that shows it may take it as more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from sifu.plan.report_plan import ReportPlan

_SIGNS = ("=", "+", "-", "@")  # of a formula; some spreadsheets take the wide ones of East Asia as well
_FORMULA = (*_SIGNS, "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
_VALUE = r"(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)"
_NUMBER = re.compile(rf"[-+]?(?:{_VALUE}(?:[ \[\],;]+(?:t )?[-+]?|$))*(?:{_VALUE}\]?)?")  # -0.3 [-0.4, -0.2; t -1, 1]
_MARKS = re.compile(r"[\\*`|]|~~|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\(|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_ENTITIES = {"<": "&lt;", "&": "&amp;", "~~": r"\~\~"}


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV; a text that a spreadsheet would compute has an apostrophe in front. Numbers stay as they are."""
    texts = {name: column.map(_csv_cell) for name, column in table.items() if not _is_numeric(column)}
    cells = table.assign(**{str(name): column for name, column in texts.items()})
    return cells.rename(columns=_csv_cell).to_csv(index=False)


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column)


def _csv_cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def markdown_text(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose texts Markdown shows as they are: no HTML, no links, no stars."""
    return table.map(lambda value: _markdown_cell(value) if isinstance(value, str) else value)


def _markdown_cell(text: str) -> str:
    lines = " ".join(text.splitlines())
    return _MARKS.sub(lambda found: _ENTITIES.get(found[0], "\\" + found[0]), lines)


def for_figures(plan: ReportPlan) -> ReportPlan:
    """A plan whose names Matplotlib draws letter by letter: no formulas, and no label that it leaves out."""
    return replace(plan, titles=_drawn(plan.titles), labels=_drawn(plan.labels), changes=_drawn(plan.changes))


def _drawn(names: Mapping[str, str]) -> dict[str, str]:
    """Dollars are escaped; a legend leaves out what begins with `_`."""
    escaped = {key: " ".join(name.splitlines()).replace("$", r"\$") for key, name in names.items()}
    return {key: f" {name}" if name.startswith("_") else name for key, name in escaped.items()}
