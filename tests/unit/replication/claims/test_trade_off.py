"""Claims on trade-offs: gaps to scratch, added up, next to the best rival's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sifu.replication.claims import trade_off
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim, measured
from tests.outcomes import Outcome
from tests.small_replication import World

HOLDS, IN_PART, FAILS, UNDECIDED, NOT_TESTABLE, NOT_RUN = Verdict


def test_gaps_add_up_and_the_best_rival_counts() -> None:
    """SIFU: 0.1 + 0.1; fine-tuning 0.15 + 0.15, the others 0.5 + 0.5: the difference is 0.1."""
    world = World(("mnist",), {("mnist", "fine_tuning"): Outcome(gap=0.15)})
    assert measured("SIFU has", world, "mnist").mean == pytest.approx(0.1)
    assert claim("SIFU has").measure(world.tables())[0].note == "Fine-tuning"


def test_a_trade_off_needs_all_rivals() -> None:
    tables = World(("mnist",)).tables()
    kept = tables.metrics["variant"] != "last_released"
    found = trade_off.best_trade_off(trade_off.RELEASED)(replace(tables, metrics=tables.metrics[kept]))
    assert found[0].verdict is NOT_TESTABLE


def test_trade_offs_of_sifu_and_of_scratch_are_shown() -> None:
    """0.1 + 0.1 and 0.5 + 0.5, and nothing of a method that was not run."""
    lines = claim("SIFU has").measure(World(("mnist",)).tables())
    gaps = [line for line in lines if line.what in ("gaps of SIFU, as released", "gaps of scratch")]
    means = {line.what: line.value.mean for line in gaps if line.value is not None}
    assert means == {"gaps of SIFU, as released": pytest.approx(0.2), "gaps of scratch": pytest.approx(1.0)}


def test_both_references_of_a_trade_off_are_judged() -> None:
    """Gaps under the same limit are half as large here: 1.0 / 2 - 0.2 / 2."""
    world, same = World(("mnist",)), "SIFU's trade-off is still the best next to scratch"
    assert measured("SIFU has", world, "mnist").mean == pytest.approx(0.8)
    assert measured(same, world, "mnist").mean == pytest.approx(0.4)
    assert claim(same).measure(world.tables())[0].what.endswith("to scratch under the same limit")
