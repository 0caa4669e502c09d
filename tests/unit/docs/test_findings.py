"""The README's findings: their words are true of the stored tables, and the page can be read at a glance."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from sifu.docs import findings
from sifu.replication.claims.claim import Measured
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.rounds import share_of_scratch
from sifu.replication.claims.stored_tables import DATASETS, StoredTables, read_tables
from sifu.replication.published import REPLICATION, quoted
from sifu.report.figures.overview import CLOSE, FAR
from sifu.report.totals import request_totals
from tests.conftest import REPO

README = (REPO / "README.md").read_text()


@pytest.fixture(scope="module")
def tables() -> StoredTables:
    return read_tables(REPO / REPLICATION)


@pytest.fixture(scope="module")
def totals(tables: StoredTables) -> pd.DataFrame:
    return findings._of_datasets(tables).set_index("variant")


def test_the_words_of_the_findings_are_true(tables: StoredTables, totals: pd.DataFrame) -> None:
    """Cheaper is below scratch's cost, forgotten near scratch's accuracy; a promise is broken often, or never."""
    assert (totals.loc["sifu", "cost"] < 1).all()
    assert (totals.loc["sifu", "gap"].abs() <= FAR).all()
    others = totals.drop("fine_tuning").query("gap < @FAR")
    assert totals.loc["fine_tuning", "cost"].max() < others["cost"].min()
    assert (totals.loc["fine_tuning", "gap"] > FAR).all()
    assert (totals.loc["fed_eraser_searched", "gap"].abs() <= CLOSE).all()
    assert totals.loc["fed_eraser_searched", "cost"].mean() == pytest.approx(
        totals.loc["sifu", "cost"].mean(), abs=0.15
    )
    assert findings._broken(tables, "sifu") > 0.5
    assert findings._broken(tables, "sifu_strict") == 0


def test_costs_are_those_that_claims_are_judged_by(tables: StoredTables) -> None:
    found = request_totals(tables.cells, tables.metrics).set_index(["scenario", "variant"])
    for scenario in (name for name in DATASETS if tables.ran(name, "scratch")):
        for variant in ("sifu", "fed_eraser_searched", "dp_released"):
            cost = Measured.of(share_of_scratch(tables, scenario, variant, "client_steps"))
            gap = Measured.of(beyond_scratch(tables, scenario, variant))
            row = found.loc[(scenario, variant)]
            assert row["compared"] == (cost.seeds if cost else 0)
            if cost is not None and gap is not None:
                assert [row["cost"], row["gap"]] == pytest.approx([cost.mean, gap.mean])


def test_there_are_four_findings_and_at_most_eight_rows() -> None:
    run = quoted(REPO)
    assert run is not None
    assert [line[:3] for line in findings.findings(REPO, run).splitlines()] == ["1. ", "2. ", "3. ", "4. "]
    assert 3 <= len(findings.costs(REPO, run).splitlines()) - 2 <= 8


def test_the_first_screen_is_read_once() -> None:
    """Three sentences before the picture, and no sentence of more than 30 words before the table."""
    first = README.partition("<!-- docs: costs -->")[0]
    text = re.sub(r"```.*?```|<!--.*?-->|!\[.*?\]\(.*?\)|^#.*$", "", first, flags=re.DOTALL | re.MULTILINE)
    intro = README.partition("<!-- docs: overview -->")[0].partition("\n")[2]
    assert len(re.findall(r"\.(?:\s|$)", intro)) == 3
    sentences = re.split(r"(?<=\.)\s+|\n\n", text)
    assert max(len(sentence.split()) for sentence in sentences) <= 30
    assert README.count("\n") <= 120
