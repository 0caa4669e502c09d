"""Claims on certificates: a promise is judged for whom it is made, and one that is broken is one too many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sifu.certificate.gaussian import largest_ratio
from sifu.replication.claims.claim import Claim
from sifu.replication.claims.stored_tables import DATASETS, StoredTables
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim, measured, verdict
from tests.outcomes import Outcome
from tests.small_replication import World

HOLDS, IN_PART, FAILS, UNDECIDED, NOT_TESTABLE, NOT_RUN = Verdict


def test_one_broken_promise_is_one_too_many() -> None:
    """Three seeds with two requests each: one delta of 0.02 where 0.01 is claimed leaves 5 of 6 requests and 2 of 3
    seeds, twice at worst.
    """
    tables = World().tables()
    cells = tables.cells.copy()
    first = cells.index[(cells["scenario"] == "mnist") & (cells["variant"] == "sifu") & (cells["stop"] == "target")][0]
    cells.loc[first, "single_psi"] = largest_ratio(10.0, 0.02, "analytic")
    found = claim("SIFU's certificate").measure(replace(tables, cells=cells))
    assert found[0].verdict is IN_PART
    assert found[0].value is not None
    assert found[0].value.mean == pytest.approx(2 / 3)
    assert (found[0].value.low, found[0].value.high) == (pytest.approx(0.094, abs=1e-3), pytest.approx(0.992, abs=1e-3))
    values = {line.what: line.value for line in found if line.scenario == "mnist" and line.value is not None}
    assert values["requests where SIFU keeps its delta"].mean == pytest.approx(5 / 6)
    assert values["actual over claimed delta of SIFU, worst request"].high == pytest.approx(2.0)


def test_a_promise_is_judged_for_whom_it_is_made() -> None:
    """SIFU promises 0.01 to each client alone, where 0.005 holds; for a whole request 0.5 does. Strict SIFU promises it
    to the request.
    """
    whole = "seeds in which {} would keep it for all clients together"
    changes = {("*", name): Outcome(40, delta=0.005, together=0.5) for name in ("sifu", "sifu_strict")}
    world = World(changes=changes)
    assert verdict("SIFU's certificate", world) is HOLDS
    assert verdict("Strict SIFU's certificate", world) is FAILS
    for name, label in (("SIFU's certificate", "SIFU"), ("Strict SIFU's certificate", "SIFU, strict,")):
        lines = [line for line in claim(name).measure(world.tables()) if line.what == whole.format(label)]
        assert [line.verdict for line in lines] == [None] * len(DATASETS)
        assert [line.value.mean for line in lines if line.value] == [0.0] * len(DATASETS)


def test_strict_psi_must_be_a_bound_for_its_certificate() -> None:
    assert verdict("Strict SIFU's certificate", World(strict=1.0)) is HOLDS
    assert verdict("Strict SIFU's certificate", World(strict=0.99)) is IN_PART
    assert verdict("Strict SIFU's certificate", World(strict=0.99, hidden=0.5)) is IN_PART
    assert verdict("Strict SIFU's certificate", World(strict=0.99, hidden=0.49)) is FAILS
    assert measured("Strict SIFU's certificate", World(hidden=0.3), "mnist", 2).mean == pytest.approx(0.3)


def test_clients_that_did_not_take_part_are_not_hidden() -> None:
    """Of 100 that took part 30 are hidden; with 50 more that did not, 80 of 150 would be more than half."""
    name = "Strict SIFU's certificate"
    assert measured(name, World(hidden=0.3, idle=50), "mnist", 2).mean == pytest.approx(0.3)
    assert verdict(name, World(hidden=0.3, idle=50)) is FAILS


def _with_alpha(tables: StoredTables, by_seed: dict[int, float]) -> StoredTables:
    """The distances that were measured of strict SIFU's answers: of all requests of a seed the same."""
    rows = tables.cells["variant"] == "sifu_strict"
    return replace(tables, cells=tables.cells.assign(alpha=tables.cells["seed"].map(by_seed).where(rows)))


def test_what_was_measured_of_the_answers_limits_strict_sifu() -> None:
    """Noise of 1 hides 2.86 at epsilon = 10 and delta = 0.01. Of three seeds at 2.8 and 9, one beyond is in part; two
    are 67% not hidden, more than half. That needs no other measurement of single clients.
    """
    chosen, tables = claim("Strict SIFU's certificate"), World().tables()
    no_alpha_stage = replace(tables, bounds=tables.bounds.iloc[:0])
    for distances, with_stage, without in (
        ({0: 2.8, 1: 2.8, 2: 2.8}, HOLDS, IN_PART),
        ({0: 2.8, 1: 2.8, 2: 9.0}, IN_PART, IN_PART),
        ({0: 2.8, 1: 9.0, 2: 9.0}, FAILS, FAILS),
    ):
        assert _judged(chosen, _with_alpha(tables, distances)) is with_stage
        assert _judged(chosen, _with_alpha(no_alpha_stage, distances)) is without


def _judged(chosen: Claim, tables: StoredTables) -> Verdict:
    return chosen.judge(chosen.measure(tables))


def test_hidden_requests_are_shown_and_counted_by_seeds() -> None:
    """One request of two beyond what the noise hides, in one of three seeds: 5 of 6 requests, 2 of 3 seeds."""
    tables = _with_alpha(World().tables(), {0: 2.8, 1: 2.8, 2: 9.0})
    first = tables.cells["request"] == 1
    tables = replace(tables, cells=tables.cells.assign(alpha=tables.cells["alpha"].where(first, 2.8)))
    lines = [line for line in claim("Strict SIFU's certificate").measure(tables) if line.scenario == "mnist"]
    found = {line.what: line.value.mean for line in lines if line.value is not None}
    assert found["requests that SIFU, strict, hides as measured"] == pytest.approx(5 / 6)
    assert found["seeds in which it hides all of them"] == pytest.approx(2 / 3)
