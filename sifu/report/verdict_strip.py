"""The verdict strip of the report: a coloured cell a claim and dataset. What claims are is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from sifu.report.marked import marked

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
NOT_RUN, NOT_PART = "not run", "not part of the claim"
ADJUSTED = "once adjusted for many claims"
_SIGNS = {
    HOLDS: "✓",
    IN_PART: "~",
    FAILS: "✗",
    "undecided": "?",
    "not testable": "n/a",
    NOT_RUN: NOT_RUN,
    NOT_PART: "-",
}
_KINDS = {HOLDS: "forgotten", IN_PART: "in-part", FAILS: "not-forgotten", "undecided": "cannot-tell"}  # colours


_NOTE = (
    "Click a claim for the sentence that it checks, what came out and its rule; numbers and commands: "
    "docs/replication/claims.md. With many claims some would hold by chance: the last column is adjusted for that."
)


@dataclass(frozen=True)
class ClaimRow:
    """A claim with its verdict as a whole and, by the name of a dataset, on each that it is judged on."""

    name: str
    group: str  # whose claim it is
    verdict: str
    cells: dict[str, str]  # dataset -> verdict
    rule: str
    quote: str = ""  # the paper's sentence, and where it stands
    in_short: str = ""  # on how many datasets it holds, and which are missing
    adjusted_away: bool = False  # undecided by the adjustment for many claims alone


def verdict_strip(rows: list[ClaimRow], folder: Path | None = None) -> str:
    """A table with a row a claim, a column a dataset, and the verdict as a whole. `folder`: where the page lies."""
    datasets = list(dict.fromkeys(name for row in rows for name in row.cells))
    head = "".join(f'<th scope="col">{escape(title)}' for title in ["claim", *datasets, "all together"])
    body, group = "", ""
    for row in rows:
        if row.group != group:
            group = row.group
            body += f'<tr class="group"><td colspan="{len(datasets) + 2}">{escape(group)}'
        more = "".join(f"<p>{marked(text, folder)}" for text in (row.quote, row.in_short, row.rule) if text)
        claim = f'<td><details class="again"><summary>{escape(row.name)}</summary>{more}</details>'
        cells = "".join(_cell(row.cells.get(name, NOT_PART)) for name in datasets)
        body += f"<tr>{claim}{cells}{_cell(row.verdict, ADJUSTED if row.adjusted_away else '')}"
    key = "; ".join(f"{sign} {word}" for word, sign in _SIGNS.items() if sign != word)
    note = f'<p class="note">{marked(_NOTE, folder)} {escape(key)}.</p>'
    return f'{note}<div class="scroll"><table class="strip"><thead><tr>{head}<tbody>{body}</table></div>'


def _cell(verdict: str, why: str = "") -> str:
    """The sign of a verdict, and its words where there is room for more than the sign."""
    kind, words, sign = _KINDS.get(verdict, "soft"), escape(f"{verdict} {why}".rstrip()), _SIGNS.get(verdict, "")
    more = "" if sign == verdict else f'<span class="word"> {words}</span>'
    return f'<td class="{kind}" title="{words}">{sign}{more}'
