"""The command behind each claim names something that is stored: tried against the tables, not run."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from sifu.errors import StoreError
from sifu.replication.claims.catalog import CLAIMS
from sifu.replication.claims.claim import Claim
from sifu.replication.published import REPLICATION
from sifu.replication.recheck.stored_run import StoredRun, named_cell, read_stored_run
from tests.conftest import REPO

needs_replication = pytest.mark.skipif(
    not (REPO / REPLICATION / "manifest.json").exists(), reason="results/paper is not in this checkout"
)


@pytest.fixture(scope="module")
def stored() -> StoredRun:
    return read_stored_run(REPO / REPLICATION)


def rows_of_stage(command: str, stored: StoredRun) -> pd.DataFrame:
    """The stored rows that a command with Snakemake makes again."""
    match = re.search(r" results/one/(\w+)/(\w+)/(?:(\w+)/)?s(\d+)-\d+/", command)
    assert match is not None, command
    stage, scenario, variant, seed = match.groups()
    tables = {"sweep": stored.tables.sweep, "alpha": stored.tables.bounds, "request_sets": stored.tables.sets}
    rows = tables[stage]
    rows = rows[(rows["scenario"] == scenario) & (rows["seed"] == int(seed))]
    return rows if variant is None else rows[rows["variant"] == variant]


@needs_replication
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_the_command_of_a_claim_names_what_is_stored(claim: Claim, stored: StoredRun) -> None:
    cell = re.search(r"--cell (\S+)", claim.command)
    if cell is not None:
        named_cell(cell[1], stored)
    elif "snakemake" in claim.command:
        assert len(rows_of_stage(claim.command, stored))
    else:
        assert "sifu null_space" in claim.command
        assert len(stored.tables.null_space)


@needs_replication
def test_a_cell_that_is_not_stored_would_be_noticed(stored: StoredRun) -> None:
    with pytest.raises(StoreError, match="has no cell"):
        named_cell("mnist/nobody/0", stored)
