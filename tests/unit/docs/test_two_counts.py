"""What the page says of verdicts before and now: each method and dataset once, and whether it moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sifu.docs.moved import moved
from sifu.docs.moved_claims import moved_claims
from sifu.docs.moved_promises import moved_promises
from sifu.docs.replication_run import MeasuredRun, anchor
from sifu.docs.two_counts import two_counts
from sifu.replication.claims.catalog import CLAIMS
from sifu.replication.claims.stored_tables import StoredTables
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim
from tests.small_replication import PLAIN, World

HIDDEN, TOO_FAR = 2.0, 4.0  # epsilon 10 at delta 0.01: noise of 1 hides 2.856
PLAN = {
    "scenarios": {"mnist": {"label": "MNIST"}, "celeba": {"label": "CelebA"}},
    "variants": {"sifu": {"label": "SIFU"}, "last": {"label": "Last"}, "scratch": {"label": "Scratch"}},
}


def run_of(tables: StoredTables) -> MeasuredRun:
    return MeasuredRun(Path(), PLAN, None, tables, {one.name: one.measure(tables) for one in CLAIMS}, {})


def answers(scenario: str, variant: str, **worth: Any) -> pd.DataFrame:
    """Two seeds with a request each; every Psi within the noise."""
    row = {"scenario": scenario, "variant": variant, "stop": "target", "status": "done", "request": 1, "covers": 10}
    row |= {"claimed_epsilon": 10.0, "claimed_delta": 0.01, "covers_everyone": False, "spent_epsilon": None, "sigma": 1}
    psi = dict.fromkeys(("empty_psi", "strict_psi", "single_psi", "everyone_psi", "alpha"), HIDDEN)
    return pd.DataFrame([row | psi | worth | {"seed": seed} for seed in (0, 1)])


def promises(*parts: pd.DataFrame) -> list[str]:
    tables = replace(World((), marks=PLAIN).tables(), cells=pd.concat(parts, ignore_index=True))
    return moved_promises(MeasuredRun(Path(), PLAN, None, tables, {}, {})).splitlines()


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (Verdict.HOLDS, Verdict.FAILS, "now broken"),
        (Verdict.FAILS, Verdict.HOLDS, "now kept"),
        (Verdict.FAILS, Verdict.FAILS, "unchanged"),
        (Verdict.HOLDS, None, "to be counted again"),
        (None, Verdict.HOLDS, "cannot be said"),
    ],
)
def test_a_word_on_each_way_to_move(before: Verdict | None, now: Verdict | None, words: str) -> None:
    assert moved(before, now, {Verdict.HOLDS: "kept", Verdict.FAILS: "broken"}) == words


def test_every_method_and_dataset_stands_once_and_what_moved_comes_first() -> None:
    lines = promises(
        answers("celeba", "sifu"),
        answers("mnist", "sifu"),
        answers("mnist", "last", empty_psi=HIDDEN, strict_psi=TOO_FAR, alpha=TOO_FAR),
        answers("celeba", "last", empty_psi=TOO_FAR, strict_psi=None, alpha=None),
        answers("mnist", "scratch", claimed_epsilon=0.0, sigma=0.0, empty_psi=0.0, strict_psi=0.0),
        answers("celeba", "scratch", claimed_epsilon=0.0, empty_psi=None, strict_psi=None),
    )
    rows = [line for line in lines if line.startswith("| ")][2:]
    assert rows == [
        "| Last | kept | broken | now broken | broken | broken | MNIST: 2, now 0 of 2 |",
        "| Last | broken | - | to be counted again | - | - | CelebA: 0 of 2 |",
        "| SIFU | kept | kept | unchanged | kept | kept | MNIST: 2 of 2; CelebA: 2 of 2 |",
    ]
    assert lines[0].startswith("Of 3 promises (each of a method on a dataset) that are counted both ways, 2 are judged")
    assert "1 moved; refilled seats change Psi by a factor of 1.00 to 2.00 (medians). 1 have the earlier" in lines[0]
    assert "- 1 without noise, and with nothing to hide by either count: Scratch." in lines
    assert "- 1 not counted either way: CelebA (Scratch)." in lines


def test_claims_that_moved() -> None:
    """Every promise is kept with refilled seats; with empty ones SIFU's is broken in one of three seeds."""
    tables = World(("mnist",), marks=PLAIN).tables()
    cells = tables.cells.assign(empty_psi=HIDDEN)
    cells.loc[(cells["variant"] == "sifu") & (cells["seed"] == 1), "empty_psi"] = TOO_FAR
    text = moved_claims(run_of(replace(tables, cells=cells)))
    one = claim("SIFU's certificate")
    link = f"[{one.name}](#{anchor(one)})"
    assert f"| {link} | MNIST | holds in part (2 of 3 seeds) | holds (3 of 3 seeds) | now holds |" in text
    assert text.count(f"| {link} | ") == 2  # and all datasets together


def test_without_a_run_there_is_nothing_to_compare() -> None:
    text = two_counts(run_of(World((), marks=PLAIN).tables()))
    assert text.count("Not run.") == 2
