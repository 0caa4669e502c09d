"""The column `forgotten?`: a row's own twin test, else what the leaderboard says of its method, and by what."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sifu.report.carried import TO_TARGET, Carried, grade_words
from sifu.report.forgetting import COLUMN
from sifu.report.grades import FORGOTTEN, IN_PART, NOT_FORGOTTEN, UNKNOWN
from sifu.report.results import Results
from sifu.report.standings import EXACT, Certificate
from tests.unit.report.test_forgetting import frame, row
from tests.unit.report.test_looked_good import LABELS, METHODS, PLAN, standing

# b has the data of a, where twins were tested; c has other data
PLAN_OF_THREE = replace(
    PLAN,
    titles={"a": "Digits, twins", "b": "Digits", "c": "Faces"},
    labels=LABELS | {"last": "Last"},
    methods=METHODS | {"last": "last"},
    trainings={"a": "digits", "b": "digits", "c": "faces"},
)
ROWS = [
    standing("a", "sifu", NOT_FORGOTTEN, FORGOTTEN),
    standing("a", "tuned", FORGOTTEN, FORGOTTEN),
    standing("a", "last", UNKNOWN, FORGOTTEN),
    standing("b", "scratch", None, FORGOTTEN),
    standing("b", "sifu", None, IN_PART, gap=0.05),
    standing("b", "tuned", None, FORGOTTEN),
    standing("b", "last", None, FORGOTTEN),
    standing("c", "sifu", None, FORGOTTEN, gap=0.01),
    standing("c", "tuned", None, NOT_FORGOTTEN, gap=0.5),
    standing("c", "last", None, FORGOTTEN, gap=0.02)._replace(certificate=Certificate(0.0, 0.0, EXACT)),
]


def test_a_grade_says_where_it_comes_from() -> None:
    assert grade_words(PLAN_OF_THREE, ROWS) == {
        ("a", "sifu"): "no (Digits, twins)",
        ("a", "tuned"): "yes (Digits, twins)",
        ("a", "last"): "cannot tell (Digits, twins)",
        ("b", "scratch"): "yes (exact)",
        ("b", "sifu"): "no (Digits, twins)",
        ("b", "tuned"): "yes (Digits, twins)",
        ("b", "last"): "by accuracy: forgotten",
        ("c", "sifu"): "by accuracy: forgotten",
        ("c", "tuned"): "by accuracy: not forgotten",
        ("c", "last"): "yes (exact)",
    }


def carried(measured: pd.DataFrame) -> Carried:
    source = Results(PLAN_OF_THREE)
    source.__dict__["forgetting"] = measured
    return Carried(source, ROWS)


MEASURED = frame(row("sifu", 0.87, "cannot tell") | {"scenario": "a"})
TABLE = pd.DataFrame({"scenario": ["a", "a", "b", "d"], "method": "SIFU", "request": [1, 2, 1, 1]})


def test_the_twin_test_of_a_request_comes_first() -> None:
    """Request 1 of a was tested, request 2 was not; of d nothing is known."""
    table = carried(MEASURED).by_request(TABLE.assign(floor="", x=1))
    assert list(table.columns) == ["scenario", "method", "request", "floor", COLUMN, "x"]
    assert table[COLUMN].tolist() == ["cannot tell", "no (Digits, twins)", "no (Digits, twins)", "-"]


def test_a_budget_has_what_is_said_of_answers_to_the_target() -> None:
    table = carried(MEASURED).to_target(TABLE)
    assert table[TO_TARGET].tolist() == [*["no (Digits, twins)"] * 3, "-"]


def test_of_another_noise_nothing_is_known() -> None:
    table = carried(MEASURED).of_own_noise(TABLE[2:].assign(scenario="b", sigma=["1, its own", "2"]))
    assert table[COLUMN].tolist() == ["no (Digits, twins)", "-"]


def test_without_any_twin_test_tables_are_as_they_are() -> None:
    nothing = carried(frame())
    assert nothing.by_request(TABLE) is TABLE
    assert nothing.to_target(TABLE) is TABLE
    assert carried(MEASURED).by_request(TABLE[:0]).empty
