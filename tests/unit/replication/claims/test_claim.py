"""Rules of the claims: each with all of its outcomes, on one number, on the lines of the datasets and on averages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.replication.claims import backdoor, bound, certificate, forgetting, last, rounds, sigma, trade_off, watermark
from sifu.replication.claims.claim import Line, judged, on_average, on_every_dataset
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import DATASETS
from sifu.replication.claims.verdict import Verdict
from tests.small_replication import World

HOLDS, IN_PART, FAILS, UNDECIDED, NOT_TESTABLE, NOT_RUN = Verdict


def between(low: float, high: float) -> Measured:
    return Measured((low + high) / 2, low, high, 10)


@pytest.mark.parametrize(
    ("rule", "low", "high", "wanted"),
    [
        (rounds.above_zero, 0.01, 0.1, HOLDS),
        (rounds.above_zero, 0.0, 0.1, FAILS),
        (rounds.saves_as_claimed, 0.4, 0.52, HOLDS),
        (rounds.saves_as_claimed, 0.4, 0.51, IN_PART),
        (rounds.saves_as_claimed, 0.0, 0.9, FAILS),
        (rounds.takes_as_claimed, 0.05, 0.12, HOLDS),
        (rounds.takes_as_claimed, 0.13, 0.2, IN_PART),
        (rounds.takes_as_claimed, 0.01, 0.11, IN_PART),
        (rounds.takes_as_claimed, -0.1, 0.2, FAILS),
        (rounds.alike, -0.05, 0.05, HOLDS),
        (rounds.alike, 0.04, 0.06, IN_PART),
        (rounds.alike, -0.2, 0.2, IN_PART),  # too wide to say
        (rounds.alike, 0.06, 0.2, FAILS),
        (rounds.alike, -0.2, -0.06, FAILS),
        (forgetting.poor, 0.11, 0.2, HOLDS),
        (forgetting.poor, 0.04, 0.11, IN_PART),
        (forgetting.poor, 0.0, 0.1, FAILS),
        (forgetting.slightly, 0.01, 0.1, HOLDS),
        (forgetting.slightly, 0.01, 0.11, IN_PART),
        (forgetting.slightly, -0.01, 0.01, IN_PART),
        (forgetting.slightly, 0.11, 0.3, FAILS),
        (forgetting.slightly, -0.2, -0.1, FAILS),
        (trade_off.wins, 0.1, 0.2, HOLDS),
        (trade_off.wins, -0.1, 0.2, IN_PART),
        (trade_off.wins, -0.2, -0.1, FAILS),
        (last.does_well, -0.1, 0.1, HOLDS),
        (last.does_well, 0.05, 0.2, IN_PART),
        (last.does_well, 0.11, 0.2, FAILS),
        (last.breaks, -0.1, 0.1, FAILS),
        (last.breaks, 0.05, 0.2, IN_PART),
        (last.breaks, 0.11, 0.2, HOLDS),
        (last.never_recovers, 0.9, 0.9, FAILS),
        (last.never_recovers, 0.5, 0.5, IN_PART),
        (last.never_recovers, 0.1, 0.1, HOLDS),
        (backdoor.unnoticed, 0.1, 0.1, HOLDS),
        (backdoor.unnoticed, 0.2, 0.8, IN_PART),
        (backdoor.unnoticed, 0.9, 0.9, FAILS),
        (watermark.fastest, 0.9, 0.9, HOLDS),
        (watermark.fastest, 0.5, 0.5, IN_PART),
        (watermark.fastest, 0.1, 0.1, FAILS),
        (sigma.between, 1.9, 2.3, HOLDS),
        (sigma.between, 1.5, 2.1, IN_PART),  # the interval reaches 2, the mean does not
        (sigma.between, 4.9, 7.0, IN_PART),
        (sigma.between, 5.1, 7.0, IN_PART),
        (sigma.between, 1.0, 1.9, FAILS),
        (certificate.kept, 1.0, 1.0, HOLDS),
        (certificate.kept, 0.9, 1.0, IN_PART),  # most seeds
        (certificate.kept, 0.0, 0.9, FAILS),
    ],
)
def test_a_rule(rule: object, low: float, high: float, wanted: Verdict) -> None:
    assert rule(between(low, high)) is wanted  # type: ignore[operator]


@given(low=st.floats(-2, 8), width=st.floats(0, 3))
def test_a_better_number_never_makes_a_claim_worse(low: float, width: float) -> None:
    """Where more is better: fails, in part, holds, in this order."""
    order = [FAILS, IN_PART, HOLDS]
    worse, better = between(low, low + width), between(low + 0.5, low + 0.5 + width)
    for rule in (rounds.saves_as_claimed, forgetting.poor, trade_off.wins, last.breaks, watermark.fastest):
        assert order.index(rule(worse)) <= order.index(rule(better))


@given(low=st.floats(-0.5, 0.5), width=st.floats(0, 0.5))
def test_what_is_slightly_above_is_not_poorly_forgotten(low: float, width: float) -> None:
    """One threshold for both: no number is praised and blamed."""
    value = between(low, low + width)
    assert {forgetting.slightly(value), forgetting.poor(value)} != {HOLDS}


@pytest.mark.parametrize(
    ("seeds", "ran", "wanted"),
    [(10, 10, HOLDS), (9, 10, IN_PART), (5, 10, IN_PART), (4, 10, NOT_TESTABLE)],
)
def test_seeds_that_did_not_get_there_count_against_a_claim(seeds: int, ran: int, wanted: Verdict) -> None:
    value = Measured(0.5, 0.4, 0.6, seeds)
    assert judged(value, ran, rounds.ABOVE_ZERO) is wanted
    assert judged(None, ran, rounds.ABOVE_ZERO) is NOT_TESTABLE
    assert judged(None, 0, rounds.ABOVE_ZERO) is NOT_RUN


def lines(*verdicts: Verdict) -> list[Line]:
    """One a dataset; those that were not run have no number."""
    assert len(verdicts) == len(DATASETS)
    return [
        Line(name, "", None if verdict in (NOT_RUN, NOT_TESTABLE) else between(0, 1), verdict)
        for name, verdict in zip(DATASETS, verdicts, strict=True)
    ]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([HOLDS] * 5, HOLDS),
        ([HOLDS] * 4 + [NOT_RUN], IN_PART),
        ([HOLDS] + [FAILS] * 4, IN_PART),
        ([IN_PART] * 5, IN_PART),
        ([FAILS] * 5, FAILS),
        ([FAILS] + [NOT_RUN] * 4, FAILS),
        ([NOT_RUN] * 5, NOT_TESTABLE),
        ([NOT_TESTABLE] * 4 + [NOT_RUN], NOT_TESTABLE),
        ([HOLDS] * 4 + [NOT_TESTABLE], IN_PART),
    ],
)
def test_a_claim_about_every_dataset(found: list[Verdict], wanted: Verdict) -> None:
    assert on_every_dataset(lines(*found)) is wanted
    shown = Line("mnist_by_writer", "", between(0, 1), None)
    assert on_every_dataset([*lines(*found), shown]) is wanted, "a scenario that is only shown counts"


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([HOLDS] * 4 + [NOT_RUN], HOLDS),  # four are won, whatever the fifth would say
        ([HOLDS] * 3 + [FAILS, NOT_RUN], IN_PART),
        ([HOLDS] * 3 + [IN_PART, FAILS], IN_PART),
        ([HOLDS] * 3 + [FAILS] * 2, FAILS),
        ([IN_PART] * 5, FAILS),  # nothing is won
        ([FAILS] + [NOT_RUN] * 4, NOT_TESTABLE),  # the others might all be
        ([NOT_RUN] * 5, NOT_TESTABLE),
    ],
)
def test_a_claim_about_four_datasets(found: list[Verdict], wanted: Verdict) -> None:
    assert trade_off.enough(lines(*found)) is wanted


SAVES_ON_AVERAGE = on_average(rounds.SAVES_AS_CLAIMED)


@pytest.mark.parametrize(
    ("rule", "averages", "run", "wanted"),
    [
        (SAVES_ON_AVERAGE, [between(0.5, 0.6)], 5, HOLDS),
        (SAVES_ON_AVERAGE, [between(0.5, 0.6)], 4, IN_PART),
        (SAVES_ON_AVERAGE, [between(0.1, 0.2)], 5, IN_PART),
        (SAVES_ON_AVERAGE, [between(-0.1, 0.2)], 4, FAILS),
        (SAVES_ON_AVERAGE, [None], 0, NOT_TESTABLE),
        (rounds.survives, [between(0.3, 0.4), between(-0.01, 0.1)], 5, HOLDS),
        (rounds.survives, [between(0.3, 0.4), between(-0.01, 0.1)], 4, IN_PART),
        (rounds.survives, [between(0.1, 0.3), between(0.01, 0.1)], 5, IN_PART),  # less than SIFU in every seed
        (rounds.survives, [between(-0.1, 0.3), between(-0.01, 0.1)], 5, FAILS),
        (rounds.survives, [None, None], 0, NOT_TESTABLE),
    ],
)
def test_a_claim_about_the_average(
    rule: Callable[[list[Line]], Verdict], averages: list[Measured | None], run: int, wanted: Verdict
) -> None:
    parts = lines(*[HOLDS] * run, *[NOT_RUN] * (5 - run))
    assert rule([*parts, *(Line("", "", average) for average in averages)]) is wanted


@pytest.mark.parametrize(
    ("own", "other", "wanted"),
    [
        (1.0, 1.0, HOLDS),
        (1.0, None, IN_PART),  # nobody tried others
        (1.0, 0.99, IN_PART),
        (0.99, 1.0, FAILS),
        (None, None, NOT_RUN),
    ],
)
def test_a_bound(own: float | None, other: float | None, wanted: Verdict) -> None:
    held = {"": own, "one_step": other}
    world = World(("mnist",), held={name: share for name, share in held.items() if share is not None}, strict=0.0)
    found = bound.psi_bounds(world.tables())
    assert found[0].verdict is wanted
    strict = [line for line in found if "strict" in line.what]
    assert all(line.value is not None and line.value.mean == 0 and line.verdict is None for line in strict)
    assert len(strict) == 2 * ((own is not None) + (other is not None)), "seeds and points"


def test_psi_is_judged_by_the_cohort_and_shown_by_shares_of_all_clients() -> None:
    """Of 100 points 40 lie below by shares, all by the cohort; then the other way round."""
    kept, below = World(("mnist",), shares=0.4), World(("mnist",), held={"": 0.4})
    first, *others = bound.psi_bounds(kept.tables())
    assert (first.verdict, first.what) == (
        HOLDS,
        "seeds with alpha <= Psi by the cohort, at every point, own settings",
    )
    found = {line.what: line.value.mean for line in others if line.value}
    assert found[bound.points_below("empty_seats")] == 1.0
    assert found[bound.points_below("published")] == pytest.approx(0.4)
    assert found["worst alpha / Psi by shares of all clients, as the text weighs, of a seed, own settings"] == 1.6
    assert {line.verdict for line in others if line.scenario == "mnist"} == {None}
    assert bound.psi_bounds(below.tables())[0].verdict is FAILS


def test_full_participation_is_shown_and_never_judged() -> None:
    world = World(("mnist", "mnist_full"), held={"": 0.5, "one_step": 1.0})
    lines = [line for line in bound.psi_bounds(world.tables()) if line.scenario == bound.FULL]
    assert lines[0].what.startswith("seeds with alpha <= Psi by the cohort")
    assert {line.verdict for line in lines} == {None}
    assert bound.held_with_everyone(world.tables()) == (150, 300), "three seeds, half of 100 points each"
    assert {line.note for line in lines} == {"", "1 setting"}
    assert bound.held_with_everyone(World(("mnist",)).tables()) == (0, 0)
