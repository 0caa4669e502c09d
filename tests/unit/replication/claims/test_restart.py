"""Whether SIFU's speed-up comes from what it keeps: next to noise alone, and to a restart of strict SIFU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sifu.replication.claims.stored_tables import DATASETS
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World

HOLDS, IN_PART, FAILS, _, NOT_TESTABLE, NOT_RUN = Verdict
HISTORY = "SIFU's speed-up comes from what it keeps"


@pytest.mark.parametrize(
    ("rounds", "wanted"),
    [(101, HOLDS), (100, HOLDS), (90, IN_PART), (71, IN_PART), (70, FAILS), (40, FAILS)],
)
def test_noise_alone_may_save_less_than_half_of_what_sifu_saves(rounds: int, wanted: Verdict) -> None:
    """SIFU saves 60 rounds of 100: noise that saves some is in part, from 30 on the history is not what saves."""
    noise = World(("mnist",), {("*", "blurred_scratch"): Outcome(rounds)}, marks=PLAIN)
    found = claim(HISTORY).measure(noise.tables())[0]
    assert (found.verdict, found.value and found.value.mean) == (wanted, pytest.approx(1 - rounds / 100))


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"sifu": Outcome(40, status="diverged")}, NOT_TESTABLE),  # no speed-up that noise could explain
        ({"blurred_scratch": Outcome(70, status="diverged")}, NOT_TESTABLE),
        ({"sifu_strict": Outcome(70, cut=0)}, HOLDS),  # a restart of strict SIFU is only shown
    ],
)
def test_the_control_and_sifu_need_numbers(changes: dict[str, Outcome], wanted: Verdict) -> None:
    world = World(("mnist",), {("mnist", name): outcome for name, outcome in changes.items()}, marks=PLAIN)
    assert claim(HISTORY).measure(world.tables())[0].verdict is wanted


def test_a_method_that_was_not_run_leaves_the_history_unjudged() -> None:
    tables = World(("mnist",), marks=PLAIN).tables()
    for name in ("sifu", "blurred_scratch"):
        without = replace(tables, cells=tables.cells[tables.cells["variant"] != name])
        assert claim(HISTORY).measure(without)[0].verdict is NOT_RUN


def test_a_restart_is_one_only_from_the_first_rounds() -> None:
    """Strict SIFU saves 10 rounds of 100 from round 10; round 11 is not the start."""
    early, late = (World(changes={("*", "sifu_strict"): Outcome(90, cut=cut)}, marks=PLAIN) for cut in (10, 11))
    found = [line for line in claim(HISTORY).measure(early.tables()) if "SIFU, strict" in line.what]
    assert [line.value and line.value.mean for line in found] == [pytest.approx(0.1)] * len(DATASETS)
    assert {line.verdict for line in found} == {None}
    assert not [line for line in claim(HISTORY).measure(late.tables()) if "SIFU, strict" in line.what]
