"""A bar's colour: the twin test has the last word over accuracy, and training again over both."""

from __future__ import annotations

import math

import pytest

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import (
    ACCURACY,
    BY_ACCURACY,
    FORGOTTEN,
    IN_PART,
    NOT_FORGOTTEN,
    TWINS,
    UNKNOWN,
    Grade,
)
from sifu.report.standings import EXACT, Certificate, Standing
from sifu.report.verdicts import REFUTED, verdicts

METHODS = {name: name for name in ("scratch", "sifu", "exact_rollback")}
PLAN = ReportPlan("", {"a": "Digits", "b": "Images"}, METHODS, METHODS, trainings={"a": "mnist", "b": "mnist"})


def standing(scenario: str, variant: str, given: Grade, by: str = ACCURACY, worth: str = "") -> Standing:
    promise = Certificate(10.0, 0.01, worth) if worth else None
    numbers = {"cost": 0.5, "gap": 0.0, "floor": math.nan, "utility": 0.9, "utility_gap": 0.0}
    return Standing(
        scenario,
        variant,
        2,
        2,
        "",
        subset="test",
        certificate=promise,
        grade=given,
        by=by,
        by_accuracy=given,
        **numbers,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("by_accuracy", "sign"),
    [(FORGOTTEN, REFUTED), (IN_PART, REFUTED), (UNKNOWN, REFUTED), (NOT_FORGOTTEN, NOT_FORGOTTEN.sign)],
)
def test_who_fails_the_twin_test_is_not_milder_for_what_accuracy_sees(by_accuracy: Grade, sign: str) -> None:
    """On b, of the same training, SIFU fails; on a it was not tested."""
    rows = [standing("a", "sifu", by_accuracy), standing("b", "sifu", NOT_FORGOTTEN, TWINS)]
    assert verdicts(PLAN, rows)["a", "sifu"] == (NOT_FORGOTTEN, sign)


def test_a_pass_elsewhere_hides_nothing_that_accuracy_sees() -> None:
    passed = standing("b", "sifu", FORGOTTEN, TWINS)
    assert verdicts(PLAN, [standing("a", "sifu", FORGOTTEN), passed])["a", "sifu"][0] is FORGOTTEN
    assert verdicts(PLAN, [standing("a", "sifu", IN_PART), passed])["a", "sifu"][0] is IN_PART
    assert verdicts(PLAN, [standing("a", "sifu", FORGOTTEN)])["a", "sifu"][0] is BY_ACCURACY, "nobody was tested"


def test_who_trains_again_has_forgotten_also_where_accuracy_cannot_tell() -> None:
    rows = [standing("a", "scratch", UNKNOWN), standing("a", "exact_rollback", UNKNOWN, worth=EXACT)]
    assert {found for found, _ in verdicts(PLAN, rows).values()} == {FORGOTTEN}
    assert verdicts(PLAN, [standing("a", "sifu", UNKNOWN)])["a", "sifu"] == (UNKNOWN, UNKNOWN.sign)
