"""The verdict strip of the report: a coloured cell a claim and dataset. What claims are is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
_SIGNS = {HOLDS: "✓", IN_PART: "~", FAILS: "✗", "undecided": "?", "not testable": "·", "not run": ""}
_KINDS = {HOLDS: "forgotten", IN_PART: "in-part", FAILS: "not-forgotten", "undecided": "cannot-tell"}  # colours


@dataclass(frozen=True)
class ClaimRow:
    """A claim with its verdict as a whole and, by the name of a dataset, on each that it is judged on."""

    name: str
    group: str  # whose claim it is
    verdict: str
    cells: dict[str, str]  # dataset -> verdict
    rule: str


def verdict_strip(rows: list[ClaimRow]) -> str:
    """A table with a row a claim, a column a dataset, and the verdict as a whole."""
    datasets = list(dict.fromkeys(name for row in rows for name in row.cells))
    head = "".join(f'<th scope="col">{escape(title)}' for title in ["claim", *datasets, "all together"])
    body, group = "", ""
    for row in rows:
        if row.group != group:
            group = row.group
            body += f'<tr class="group"><td colspan="{len(datasets) + 2}">{escape(group)}'
        claim = f'<td><details class="again"><summary>{escape(row.name)}</summary><p>{escape(row.rule)}</p></details>'
        cells = "".join(_cell(row.cells.get(name, "not run")) for name in datasets)
        body += f"<tr>{claim}{cells}{_cell(row.verdict)}"
    key = " ".join(f"{sign} {word}" for word, sign in _SIGNS.items() if sign)
    note = f'<p class="note">Each claim by its rule (click a claim); {escape(key)}; empty: not run.</p>'
    return f'{note}<div class="scroll"><table class="strip"><thead><tr>{head}<tbody>{body}</table></div>'


def _cell(verdict: str) -> str:
    kind, words = _KINDS.get(verdict, "soft"), escape(verdict)
    return f'<td class="{kind}" title="{words}">{_SIGNS.get(verdict, "")}<span class="word"> {words}</span>'
