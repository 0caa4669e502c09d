"""Claims on certificates, counted as before: the verdict on today's answers if forgotten clients' seats stay empty."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sifu.replication.claims.empty_seats import with_empty_seats
from sifu.replication.claims.stored_tables import StoredTables
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim
from tests.small_replication import PLAIN, World

HIDDEN, TOO_FAR = 2.0, 4.0  # noise of 1 hides 2.856
SIFU, STRICT = "SIFU's certificate", "Strict SIFU's certificate"


def counted_twice(psi: float, held: int = 100, hidden: float = 1.0) -> StoredTables:
    """One dataset where every promise is kept by refilled seats, and `psi` is what empty ones say; of 100 points the
    earlier Psi bounds `held`.
    """
    tables = World(("mnist",), marks=PLAIN, hidden=hidden).tables()
    strict = tables.bounds[tables.bounds["rule"] == "strict"]
    unknown = dict.fromkeys(("forgotten", "hidden", "idle"))
    earlier = strict.assign(rule="empty_seats", held=held, worst=1.5, **unknown)
    others = tables.bounds[tables.bounds["rule"] != "empty_seats"]
    bounds = pd.concat([others, earlier], ignore_index=True)
    return replace(tables, cells=tables.cells.assign(empty_psi=psi), bounds=bounds)


def verdict(name: str, tables: StoredTables) -> Verdict | None:
    return claim(name).measure(tables)[0].verdict


@pytest.mark.parametrize("name", [SIFU, STRICT])
def test_a_verdict_moves_with_the_count(name: str) -> None:
    broken, kept = counted_twice(TOO_FAR), counted_twice(HIDDEN)
    assert (verdict(name, with_empty_seats(broken)), verdict(name, broken)) == (Verdict.FAILS, Verdict.HOLDS)
    assert (verdict(name, with_empty_seats(kept)), verdict(name, kept)) == (Verdict.HOLDS, Verdict.HOLDS)


def test_the_other_measurements_limit_a_verdict_as_they_do_now() -> None:
    """The earlier Psi is below alpha at one point; whether a client is hidden does not depend on how Psi is counted."""
    below = counted_twice(HIDDEN, held=99)
    assert (verdict(STRICT, with_empty_seats(below)), verdict(STRICT, below)) == (Verdict.IN_PART, Verdict.HOLDS)
    in_sight = counted_twice(HIDDEN, hidden=0.4)
    assert verdict(STRICT, with_empty_seats(in_sight)) is verdict(STRICT, in_sight) is Verdict.FAILS


def test_what_was_not_counted_has_no_verdict() -> None:
    tables = counted_twice(float("nan"))
    assert verdict(SIFU, with_empty_seats(tables)) is Verdict.NOT_TESTABLE
    assert verdict(SIFU, tables) is Verdict.HOLDS


def test_the_tables_themselves_stay() -> None:
    tables = counted_twice(TOO_FAR)
    before = with_empty_seats(tables)
    assert set(before.cells["strict_psi"]) == {TOO_FAR}
    assert TOO_FAR not in set(tables.cells["strict_psi"])
    assert len(before.bounds) == len(tables.bounds)
