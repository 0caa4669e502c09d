"""Promises with empty and with refilled seats: epsilon 10 at delta 0.01, where noise of 1 hides 2.856."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from sifu.replication.claims.two_counts import Kept, TwoCounts, all_promises
from sifu.replication.claims.verdict import Verdict

HIDDEN, TOO_FAR = 2.0, 4.0
ANSWER = {"scenario": "mnist", "variant": "sifu", "stop": "target", "status": "done", "covers": 1}
CLAIM = {"claimed_epsilon": 10.0, "claimed_delta": 0.01, "covers_everyone": False, "sigma": 1.0, "spent_epsilon": None}
WORTH = {"empty_psi": HIDDEN, "strict_psi": TOO_FAR, "single_psi": HIDDEN, "everyone_psi": TOO_FAR, "alpha": HIDDEN}


def answers(*changes: dict[str, Any], **of_all: Any) -> pd.DataFrame:
    """Three seeds with two requests each, changed answer by answer."""
    places = [{"seed": seed, "request": request} for seed in range(3) for request in (1, 2)]
    more = [*changes, *[{}] * (len(places) - len(changes))]
    return pd.DataFrame(
        [ANSWER | CLAIM | WORTH | of_all | place | one for place, one in zip(places, more, strict=True)]
    )


def two_counts(cells: pd.DataFrame) -> TwoCounts:
    (found,) = all_promises(cells).counted
    return found


def test_each_count_is_judged_by_itself() -> None:
    """Empty seats hide what refilled ones do not; a single client, whom the promise covers, and alpha are hidden."""
    kept, broken = Kept(Verdict.HOLDS, 3, 3), Kept(Verdict.FAILS, 0, 3)
    assert two_counts(answers()) == TwoCounts("mnist", "sifu", kept, broken, kept, kept, 2.0)
    together = two_counts(answers(covers=10))
    assert (together.refilled, together.promised) == (broken, broken)


@pytest.mark.parametrize(
    ("too_far", "expected"),
    [
        ([1], Kept(Verdict.IN_PART, 2, 3)),  # one request of the first seed
        ([0, 1], Kept(Verdict.IN_PART, 2, 3)),  # both of them
        ([0, 2], Kept(Verdict.FAILS, 1, 3)),  # a third of the seeds is fewer than half of them
        ([], Kept(Verdict.HOLDS, 3, 3)),
    ],
)
def test_a_seed_keeps_its_promise_where_all_its_answers_do(too_far: list[int], expected: Kept) -> None:
    changes = [{"empty_psi": TOO_FAR if place in too_far else HIDDEN} for place in range(6)]
    assert two_counts(answers(*changes)).empty == expected


def test_the_claimed_delta_is_the_limit() -> None:
    """The largest ratio that keeps (10, 0.01) lies between 2.85 and 2.86; half the noise hides half of it."""
    within, beyond = (two_counts(answers(empty_psi=psi)).empty for psi in (2.85, 2.86))
    assert within is not None
    assert beyond is not None
    assert (within.verdict, beyond.verdict) == (Verdict.HOLDS, Verdict.FAILS)
    halved = two_counts(answers(empty_psi=1.43, sigma=0.5)).empty
    assert halved is not None
    assert halved.verdict is Verdict.FAILS


def test_a_count_that_is_not_stored_is_not_guessed() -> None:
    """Rows of older rules have empty seats alone, private rounds refilled ones alone, judged by their accountant."""
    older = two_counts(answers(strict_psi=None, single_psi=None, everyone_psi=None, alpha=None))
    assert older.empty == Kept(Verdict.HOLDS, 3, 3)
    assert (older.refilled, older.promised, older.measured) == (None, None, None)
    assert math.isnan(older.factor)
    private = two_counts(answers(empty_psi=None, alpha=None, single_psi=TOO_FAR, spent_epsilon=9.1))
    assert (private.empty, private.refilled) == (None, Kept(Verdict.FAILS, 0, 3))
    assert private.promised == Kept(Verdict.HOLDS, 3, 3)
    assert two_counts(answers(empty_psi=None, spent_epsilon=10.1)).promised == Kept(Verdict.FAILS, 0, 3)


def test_seeds_without_an_answer_are_missing() -> None:
    """Two of three seeds diverged and were not counted: one seed is too few. One of three: kept in part at best."""
    diverged = {"status": "diverged", "strict_psi": None}
    assert two_counts(answers(*[diverged] * 4)).empty == Kept(Verdict.NOT_TESTABLE, 1, 1)
    assert two_counts(answers(*[diverged] * 2)).empty == Kept(Verdict.IN_PART, 2, 2)
    assert two_counts(answers(diverged)).empty == Kept(Verdict.HOLDS, 3, 3)  # its other request counts


def test_every_promise_stands_in_one_list() -> None:
    """Of a method that promises nothing, and of budgets, there is none."""
    nothing = {"claimed_epsilon": 0.0, "sigma": 0.0, "empty_psi": 0.0, "strict_psi": 0.0}
    parts = [
        answers(),
        answers(variant="scratch", **nothing),
        answers(variant="blurred_scratch", **nothing | {"sigma": 0.05}),
        answers(variant="last", status="diverged", strict_psi=None),
        answers(variant="sharded", empty_psi=None, strict_psi=None),
        answers(variant="fine_tuning", claimed_epsilon=None),
        answers(variant="sifu_released", stop="budget_25"),
    ]
    found = all_promises(pd.concat(parts, ignore_index=True))
    assert [one.variant for one in found.counted] == ["blurred_scratch", "sifu"]
    assert found.counted[0].empty == found.counted[0].refilled == Kept(Verdict.HOLDS, 3, 3)
    lists = found.exact, found.uncounted, found.diverged
    assert lists == ([("mnist", "scratch")], [("mnist", "sharded")], [("mnist", "last")])


def test_noise_that_is_missing_is_not_exact() -> None:
    """Without noise a promise is kept only where nothing has to be hidden."""
    assert two_counts(answers(sigma=0.0, strict_psi=0.0)).empty == Kept(Verdict.FAILS, 0, 3)
