"""Two intervals, p-values and Holm's correction: what is undecided, and what depends on it."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.replication.claims import rounds, trade_off
from sifu.replication.claims.adjustment import holm, judgements
from sifu.replication.claims.claim import Line, judged, on_every_dataset, p_on_every_dataset
from sifu.replication.claims.forgetting import POOR, SLIGHTLY, noted
from sifu.replication.claims.measured import Measured, above, at_most
from sifu.replication.claims.stored_tables import DATASETS
from sifu.replication.claims.verdict import LIMIT, NO_TEST, PValues, Rule, Verdict
from tests.claim_verdicts import claim
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World

HOLDS, IN_PART, FAILS, UNDECIDED, NOT_TESTABLE, NOT_RUN = Verdict


def of(*values: float) -> Measured:
    found = Measured.of(pd.Series(values))
    assert found is not None
    return found


def test_intervals_that_disagree_leave_it_undecided() -> None:
    """0.2, 0.4 and 0.6 are all above 0, but 0.4 - 4.303 * 0.1155 is below; 0.39, 0.4 and 0.41 are above by both."""
    assert rounds.ABOVE_ZERO.verdict(of(0.2, 0.4, 0.6)) is UNDECIDED
    assert rounds.ABOVE_ZERO.verdict(of(0.39, 0.4, 0.41)) is HOLDS
    assert rounds.ABOVE_ZERO.verdict(of(0.4)) is UNDECIDED, "one seed shows nothing"
    assert judged(of(0.2, 0.4, 0.6), 4, rounds.ABOVE_ZERO) is UNDECIDED
    many = of(*[0.1, 0.5] * 6)
    assert many.student is None, "over many seeds the bootstrap's is as good"


def test_a_share_has_an_exact_interval_and_no_t_test() -> None:
    none = Measured.share(pd.Series([0.0] * 10))
    assert none is not None
    assert (none.mean, none.low, none.high) == (0.0, 0.0, pytest.approx(0.3085, abs=1e-4))
    assert none.student is None
    assert above(0.1).p_value(none) is None


def test_p_values_are_one_sided() -> None:
    """Mean 0.4, standard error 0.1155, 2 degrees of freedom: t = 3.464 against 0, so p = 0.037."""
    value = of(0.2, 0.4, 0.6)
    assert above(0.0).p_value(value) == pytest.approx(0.0371, abs=1e-4)
    assert at_most(0.0).p_value(value) == pytest.approx(1 - 0.0371, abs=1e-4)
    alike = of(0.1, 0.1, 0.1)
    assert (above(0.1).p_value(alike), at_most(0.1).p_value(alike)) == (1.0, 0.0), "at the threshold is not above"
    both = SLIGHTLY.p_values(of(0.04, 0.05, 0.06))
    assert both.holds == pytest.approx(above(0.0).p_value(of(0.04, 0.05, 0.06)))
    assert both.fails == 1.0
    assert Rule(lambda _: HOLDS).p_values(value) == PValues()


@given(st.lists(st.integers(-1000, 1000).map(lambda n: n / 1000), min_size=2, max_size=10))
def test_a_p_value_is_small_where_students_interval_lies_above(values: list[float]) -> None:
    value = of(*values)
    assert value.student is not None
    p = above(0.0).p_value(value)
    assert p is not None
    if abs(p - LIMIT) > 1e-6:
        assert (value.student.low > 0) == (p < LIMIT)


def test_holms_numbers_by_hand() -> None:
    """0.01 of four, times 4; 0.02 times 3; 0.03 times 2 would be as small; the last stays, but not below them."""
    found = holm({"a": 0.02, "b": 0.01, "c": 0.03, "d": 0.05})
    assert found == pytest.approx({"b": 0.04, "a": 0.06, "c": 0.06, "d": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}
    assert holm({}) == {}


def line(scenario: str, verdict: Verdict, p: PValues = NO_TEST) -> Line:
    return Line(scenario, "", of(0.1, 0.2), verdict, p=p)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([HOLDS] * 4 + [UNDECIDED], UNDECIDED),
        ([FAILS] * 4 + [UNDECIDED], UNDECIDED),
        ([HOLDS, FAILS] + [UNDECIDED] * 3, IN_PART),  # whatever the others say
        ([HOLDS, UNDECIDED] + [NOT_RUN] * 3, IN_PART),  # as datasets are missing
        ([UNDECIDED] + [NOT_RUN] * 4, UNDECIDED),
    ],
)
def test_undecided_datasets_matter_where_the_verdict_depends_on_them(found: list[Verdict], wanted: Verdict) -> None:
    lines = [line(name, verdict) for name, verdict in zip(DATASETS, found, strict=True)]
    assert on_every_dataset(lines) is wanted


def test_four_wins_may_be_undecided() -> None:
    def found(*verdicts: Verdict) -> Verdict:
        return trade_off.enough([line(name, verdict) for name, verdict in zip(DATASETS, verdicts, strict=True)])

    assert found(HOLDS, HOLDS, HOLDS, UNDECIDED, FAILS) is UNDECIDED
    assert found(HOLDS, HOLDS, HOLDS, HOLDS, UNDECIDED) is HOLDS
    assert found(HOLDS, UNDECIDED, FAILS, FAILS, FAILS) is FAILS


def test_a_claim_about_every_dataset_has_the_largest_p() -> None:
    ps = (0.001, 0.02, 0.3, 0.004, 0.01)
    lines = [line(name, HOLDS, PValues(p)) for name, p in zip(DATASETS, ps, strict=True)]
    assert p_on_every_dataset(lines) == PValues(0.3)
    assert trade_off.p_on_enough(lines).holds == pytest.approx(2 * 0.02), "the fourth, of two that are left"
    assert p_on_every_dataset([*lines[:4], line("celeba", HOLDS)]) == PValues(), "one is judged by another rule"


def test_what_holds_only_without_the_correction_is_undecided() -> None:
    """SIFU as released saves 72 to 32%: alone that would be enough. SIFU as described saves less, so that p is the
    second of three, and doubled. Fine-tuning knows 0.6 more in every seed: p = 0.
    """
    saves = {("*", "sifu_released"): Outcome(28, 0.02, spread=20), ("*", "sifu"): Outcome(33, 0.02, spread=20)}
    world, described = World(changes=saves, marks=PLAIN), "SIFU, as the text describes it, takes"
    claims = tuple(claim(name) for name in ("SIFU takes", described, "Fine-tuning", "The paper's bound"))
    lines = {one.name: one.measure(world.tables()) for one in claims}
    found = judgements(claims, lines)
    name = claim("SIFU takes").name
    assert claim("SIFU takes").judge(lines[name]) is HOLDS
    assert found[name].p == pytest.approx(0.0230, abs=1e-4)
    assert found[name].adjusted == pytest.approx(2 * 0.0230, abs=1e-4)
    assert found[name].verdict is UNDECIDED
    assert found[claim("Fine-tuning").name] == (HOLDS, 0.0, 0.0)
    assert found[claim("The paper's bound").name] == (HOLDS, None, None), "no test, no correction"


def test_a_failure_that_is_a_test_is_corrected_too() -> None:
    assert POOR.p_values(of(0.01, 0.02, 0.03)).fails == pytest.approx(0.0026, abs=1e-4)
    assert rounds.ABOVE_ZERO.p_values(of(-0.1, 0.1)).fails is None, "that nothing is shown is no test"


def test_the_least_of_several_numbers_fails_where_each_of_them_could_have() -> None:
    """A mean of -1.64 with a standard error of 0.4445: t = 3.69, p = 0.0105 with four degrees of freedom; times 4 it is
    more than 0.025.
    """
    values = of(-3.0, -2.2, -1.4, -1.2, -0.4)
    of_one, of_four = trade_off.WINS, replace(trade_off.WINS, chosen_from=4)
    assert (of_one.p_values(values).fails, of_one.verdict(values)) == (pytest.approx(0.0105, abs=1e-4), FAILS)
    assert of_four.p_values(values).fails == pytest.approx(0.0421, abs=4e-4)
    assert of_four.verdict(values) is UNDECIDED
    assert of_four.verdict(of(-3.0, -2.9, -2.8, -2.7, -2.6)) is FAILS, "far enough below 0 for any of four"


def test_a_gap_that_is_not_shown_above_the_floor_is_said_to_be() -> None:
    """0.009 to 0.011, by Student's interval 0.0075 to 0.0125. A perfect method's gap is about the floor: a
    floor of 0.01 is reached by both intervals, one of 0.008 by the second alone.
    """
    near = Line("mnist", "", of(0.009, 0.01, 0.011), note="x")
    assert noted(near, 0.02).note == "x, not shown above the floor of 0.020"
    assert noted(near, 0.01).note == "x, not shown above the floor of 0.010"
    assert noted(near, 0.008).note == "x, floor 0.008"
    assert noted(near, None).note == "x, floor -"
    assert noted(Line("mnist", "", None), 0.02).note == ""
