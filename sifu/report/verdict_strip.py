"""The verdict strip of the report: a coloured cell a claim and dataset. What claims are is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from sifu.report.marked import marked

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
_NOT_RUN, _NO_DATASET = "not run", "not about a dataset"
_SIGNS = {
    HOLDS: "✓",
    IN_PART: "~",
    FAILS: "✗",
    "undecided": "?",
    "not testable": "n/a",
    _NOT_RUN: _NOT_RUN,
    _NO_DATASET: "-",
}
_KINDS = {HOLDS: "forgotten", IN_PART: "in-part", FAILS: "not-forgotten", "undecided": "cannot-tell"}  # colours


@dataclass(frozen=True)
class ClaimRow:
    """A claim with its verdict as a whole and, by the name of a dataset, on each that it is judged on."""

    name: str
    group: str  # whose claim it is
    verdict: str
    cells: dict[str, str]  # dataset -> verdict
    rule: str


def verdict_strip(rows: list[ClaimRow], folder: Path | None = None) -> str:
    """A table with a row a claim, a column a dataset, and the verdict as a whole. `folder`: where the page lies."""
    datasets = list(dict.fromkeys(name for row in rows for name in row.cells))
    head = "".join(f'<th scope="col">{escape(title)}' for title in ["claim", *datasets, "all together"])
    body, group = "", ""
    for row in rows:
        if row.group != group:
            group = row.group
            body += f'<tr class="group"><td colspan="{len(datasets) + 2}">{escape(group)}'
        rule = marked(row.rule, folder)
        claim = f'<td><details class="again"><summary>{escape(row.name)}</summary><p>{rule}</p></details>'
        cells = "".join(_cell(found) for found in _on_datasets(row, datasets))
        body += f"<tr>{claim}{cells}{_cell(row.verdict)}"
    key = "; ".join(f"{sign} {word}" for word, sign in _SIGNS.items() if sign != word)
    note = f'<p class="note">Each claim by its rule (click a claim). {escape(key)}.</p>'
    return f'{note}<div class="scroll"><table class="strip"><thead><tr>{head}<tbody>{body}</table></div>'


def _on_datasets(row: ClaimRow, datasets: list[str]) -> list[str]:
    """The verdict on each dataset; a dash each for a claim that is judged and is about none of them."""
    found = [row.cells.get(name, _NOT_RUN) for name in datasets]
    about_none = set(found) == {_NOT_RUN} and row.verdict != _NOT_RUN
    return [_NO_DATASET] * len(found) if about_none else found


def _cell(verdict: str) -> str:
    """The sign of a verdict, and its words where there is room for more than the sign."""
    kind, words, sign = _KINDS.get(verdict, "soft"), escape(verdict), _SIGNS.get(verdict, "")
    more = "" if sign == verdict else f'<span class="word"> {words}</span>'
    return f'<td class="{kind}" title="{words}">{sign}{more}'
