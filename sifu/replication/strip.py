"""The claims as rows of the report's verdict strip, of any run that has one of the paper's datasets."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sifu.replication.claims.adjustment import judgements
from sifu.replication.claims.catalog import CLAIMS, PAPER
from sifu.replication.claims.claim import Claim, Line
from sifu.replication.claims.counted import claim_in_short, counted
from sifu.replication.claims.stored_tables import DATASETS, read_tables
from sifu.replication.claims.verdict import Verdict
from sifu.report.verdict_strip import NOT_PART, NOT_RUN, ClaimRow

_GROUPS = {True: "The paper's claims", False: "What the paper leaves open"}
_ORDER = (Verdict.FAILS, Verdict.UNDECIDED, Verdict.IN_PART, Verdict.HOLDS, Verdict.NOT_TESTABLE, Verdict.NOT_RUN)


def claim_rows(results: Path, titles: dict[str, str], planned: Collection[Path] | None = None) -> list[ClaimRow]:
    """A row a claim; none where nothing of a run is judged. `titles`: the names of scenarios; `planned`: its files."""
    tables = read_tables(results, planned)
    if not set(DATASETS) & set(tables.cells["scenario"]):
        return []
    lines = {claim.name: claim.measure(tables) for claim in CLAIMS}
    judged = judgements(CLAIMS, lines)
    return [_row(claim, lines[claim.name], judged[claim.name].verdict, titles) for claim in CLAIMS]


def _row(claim: Claim, lines: list[Line], verdict: Verdict, titles: dict[str, str]) -> ClaimRow:
    """`verdict`: by the whole rule, adjusted for all claims."""
    words = claim_in_short(claim, lines, verdict, titles).replace("**", "")
    return ClaimRow(
        claim.name,
        _GROUPS[claim in PAPER],
        verdict.value,
        _cells(lines, titles),
        claim.rule,
        quote=f"{claim.quote} ({claim.place})",
        in_short=f"Verdict: {words}. Missing: {counted(lines).not_judged(titles)}.",
        adjusted_away=verdict is Verdict.UNDECIDED and claim.judge(lines) is not verdict,
    )


def _cells(lines: list[Line], titles: dict[str, str]) -> dict[str, str]:
    """The verdict on each dataset: of several numbers the least favourable. Not every claim speaks of every dataset."""
    found = {}
    for name in (name for name in DATASETS if name in titles):
        judged_on = [line for line in lines if line.counts and line.scenario == name]
        verdicts = {line.verdict for line in judged_on}
        worst = next((verdict.value for verdict in _ORDER if verdict in verdicts), NOT_RUN)
        found[titles[name]] = worst if judged_on else NOT_PART
    return found
