"""The claims as rows of the report's verdict strip, of any run that has one of the paper's datasets."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sifu.replication.claims.catalog import CLAIMS, PAPER
from sifu.replication.claims.claim import Line
from sifu.replication.claims.correction import judgements
from sifu.replication.claims.stored_tables import DATASETS, read_tables
from sifu.replication.claims.verdict import Verdict
from sifu.report.verdict_strip import ClaimRow

_GROUPS = {True: "The paper's claims", False: "What the paper leaves open"}
_ORDER = (Verdict.FAILS, Verdict.UNDECIDED, Verdict.IN_PART, Verdict.HOLDS, Verdict.NOT_TESTABLE, Verdict.NOT_RUN)


def claim_rows(results: Path, titles: dict[str, str], planned: Collection[Path] | None = None) -> list[ClaimRow]:
    """A row a claim; none where nothing of a run is judged. `titles`: the names of scenarios; `planned`: its files."""
    tables = read_tables(results, planned)
    if not set(DATASETS) & set(tables.cells["scenario"]):
        return []
    lines = {claim.name: claim.measure(tables) for claim in CLAIMS}
    judged = judgements(CLAIMS, lines)
    return [
        ClaimRow(
            claim.name,
            _GROUPS[claim in PAPER],
            judged[claim.name].verdict.value,
            _cells(lines[claim.name], titles),
            claim.rule,
        )
        for claim in CLAIMS
    ]


def _cells(lines: list[Line], titles: dict[str, str]) -> dict[str, str]:
    """The verdict on each dataset: of several numbers the least favourable."""
    found = {}
    for name in (name for name in DATASETS if name in titles):
        verdicts = {line.verdict for line in lines if line.counts and line.scenario == name}
        worst = next((verdict for verdict in _ORDER if verdict in verdicts), Verdict.NOT_RUN)
        found[titles[name]] = worst.value
    return found
