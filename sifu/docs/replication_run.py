"""The run that the pages of docs/replication speak of: its plan, its tables, and all claims measured once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sifu.replication.claims.adjustment import Judgement, judgements
from sifu.replication.claims.catalog import CLAIMS
from sifu.replication.claims.claim import Claim, Line
from sifu.replication.claims.counted import claim_in_short
from sifu.replication.claims.stored_tables import StoredTables, read_tables
from sifu.replication.published import CONFIG, REPLICATION, described, is_published, read_manifest
from sifu.report.data_used import DataUsed, data_used


@dataclass(frozen=True)
class MeasuredRun:
    """A replication with every claim measured; without a manifest it has no rows."""

    root: Path
    plan: dict[str, Any]  # the settings of today's config
    manifest: dict[str, Any] | None
    tables: StoredTables
    lines: dict[str, list[Line]]  # by the name of a claim
    data: dict[str, DataUsed]  # by the name of a dataset

    @property
    def titles(self) -> dict[str, str]:
        """The labels of scenarios."""
        return {name: scenario["label"] for name, scenario in self.plan["scenarios"].items()}

    @property
    def labels(self) -> dict[str, str]:
        """The labels of variants."""
        return {name: variant["label"] for name, variant in self.plan["variants"].items()}

    def of(self, claim: Claim) -> list[Line]:
        """What was measured for a claim."""
        return self.lines[claim.name]

    def judgement(self, claim: Claim) -> Judgement:
        """The verdict on a claim, adjusted for all claims that are judged."""
        return self._judgements[claim.name]

    def in_short(self, claim: Claim) -> str:
        """What came out on the datasets that were judged, in a few words."""
        return claim_in_short(claim, self.of(claim), self.judgement(claim).verdict, self.titles)

    @cached_property
    def _judgements(self) -> dict[str, Judgement]:
        return judgements(CLAIMS, self.lines)

    def line(self, scenario: str, what: str) -> Line | None:
        """The first measured line of this name, of any claim."""
        lines = (line for lines in self.lines.values() for line in lines)
        return next((line for line in lines if (line.scenario, line.what) == (scenario, what)), None)

    def averaged(self, what: str) -> dict[str, Line]:
        """By scenario, the lines that an average of this name is of: its own claim's, as others may use the name."""
        for lines in self.lines.values():
            if any((line.scenario, line.what) == ("", what) for line in lines):
                return {line.scenario: line for line in lines if line.what == what}
        return {}


def measured_run(root: Path) -> MeasuredRun:
    """The replication of a checkout; a run that is still under way has no manifest, and counts as not run."""
    folder = root / REPLICATION
    published = is_published(root)
    tables = read_tables(folder if published else folder / "none")
    manifest = read_manifest(folder) if published else None
    lines = {claim.name: claim.measure(tables) for claim in CLAIMS}
    data = trained_on(folder) if published else {}
    return MeasuredRun(root, described(root / CONFIG), manifest, tables, lines, data)


def trained_on(folder: Path) -> dict[str, DataUsed]:
    """What the trainings of a results folder had of each dataset."""
    return data_used(sorted(folder.glob("train/*/s*/cells.parquet")))


def anchor(claim: Claim) -> str:
    """The name that GitHub gives to a claim's heading."""
    kept = "".join(sign for sign in claim.name.lower() if sign.isalnum() or sign in " -")
    return kept.replace(" ", "-")
