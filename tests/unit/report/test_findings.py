"""Sentences of the report, from statistics whose numbers are on paper."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.findings import findings
from sifu.report.privacy_points import Point
from sifu.report.results import Results
from sifu.store.experiment_schemas import SCENARIO_SEARCH
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.schemas import VERIFICATION

Number = tuple[str, str, str, float]  # variant, quantity, subset, mean


def source_of(numbers: dict[str, list[Number]], cells: pd.DataFrame | None = None) -> Results:
    """Means of the first request to the target, scenario by scenario; `cells`, and no other tables."""
    rows = [(scenario, *number) for scenario, found in numbers.items() for number in found]
    titles, labels = ({name: name.title() for name in dict.fromkeys(row[place] for row in rows)} for place in (0, 1))
    source = Results(ReportPlan("", titles, labels))
    columns = ["scenario", "variant", "quantity", "subset", "mean"]
    source.__dict__["statistics"] = pd.DataFrame(rows, columns=columns).assign(stop="target", request=1)
    empty = {"verification": VERIFICATION, "scenario_trials": SCENARIO_SEARCH, "forgetting": FORGETTING}
    for name, table in empty.items():
        source.__dict__[name] = pd.DataFrame(columns=[column.name for column in table.columns])
    source.__dict__["cells"] = cells
    return source


def test_a_broken_delta_may_be_kept_for_one_client() -> None:
    """Spent are 9 of 10, the second request's 99 is another matter. Without an accountant Psi = 2 of 2.856 decides."""
    rows = pd.DataFrame(
        [("dp", 1, 9.0, None), ("dp", 2, 99.0, None), ("sifu", 1, None, 2.0), ("bad", 1, None, 3.0)],
        columns=["variant", "request", "spent_epsilon", "single_psi"],
    ).assign(
        scenario="one", stop="target", status="done", covers=1, claimed_epsilon=10.0, claimed_delta=0.01, sigma=1.0
    )
    deltas: list[Number] = [
        (name, quantity, "", value)
        for name in ("dp", "sifu", "bad")
        for quantity, value in (("claimed_delta", 0.01), ("actual_delta", 0.5))
    ]
    (text,) = findings(source_of({"one": deltas}, rows))
    (real,) = Point("epsilon", 0.01).of(np.array([2.0]))
    assert text == (
        "One: the actual delta is above the claimed one for "
        "Dp (claimed 0.01, actual 0.5; kept for one client: epsilon 9 of 10), "
        f"Sifu (claimed 0.01, actual 0.5; kept for one client: epsilon {real:.3g} of 10), "
        "Bad (claimed 0.01, actual 0.5)."
    )


def test_a_larger_epsilon_than_the_claimed_one_is_named() -> None:
    """DP claims 10 and spends 1,234.5 in one scenario, 10.4 (within 5% of the claim) in another; SIFU spends none."""
    claimed: list[Number] = [("dp", "claimed_epsilon", "", 10.0), ("sifu", "claimed_epsilon", "", 10.0)]
    numbers: dict[str, list[Number]] = {
        "one": [("dp", "spent_epsilon", "", 1234.5)],
        "two": [("dp", "spent_epsilon", "", 10.4)],
    }
    assert findings(source_of({name: claimed + found for name, found in numbers.items()})) == [
        "One: an accountant finds a larger epsilon than the claimed one for "
        "Dp (claimed 10, spent 1,234 for one client)."
    ]


def answer(variant: str, accuracy: float, cost: float = 0.5, done: float = 1.0) -> list[Number]:
    return [
        (variant, "accuracy", "forget", accuracy),
        (variant, "steps_to_scratch", "", cost),
        (variant, "done", "", done),
    ]


def test_forgetting_is_as_scratch_does_it_not_as_little_as_possible() -> None:
    """Scratch 0.47: 0.46 is as well, 0.90 less well, 0.41 is below. What did not reach the target is not compared."""
    cells = [*answer("scratch", 0.47, 1.0), *answer("close", 0.46), *answer("known", 0.9, 0.1), *answer("below", 0.41)]
    (text,) = findings(source_of({"one": [*cells, *answer("stopped", 0.47, 0.01, done=0.9)]}))
    assert text == (
        "One: after scratch the accuracy on the first forgotten clients is 0.47. "
        "By accuracy, just as well forget: Close (0.50 of scratch's client steps, accuracy 0.46). "
        "Less well: Known (0.10 of scratch's client steps, accuracy 0.90). "
        "With an accuracy below scratch's: Below (0.50 of scratch's client steps, accuracy 0.41)."
    )


def test_who_fails_the_twin_test_of_the_same_training_has_not_forgotten() -> None:
    """The twins are of a third scenario, trained as `one` is; `two` is trained otherwise."""
    source = source_of({name: [*answer("scratch", 0.5, 1.0), *answer("close", 0.5)] for name in ("one", "two")})
    source.plan.trainings.update(one="mnist", two="celeba", twins="mnist")
    failed = {"scenario": "twins", "variant": "close", "client": -1, "twins_auc": 0.9, "forgotten": "no"}
    source.__dict__["forgetting"] = pd.DataFrame([failed])
    one, two = findings(source)
    assert "As accurate as scratch, but failing the twin test of the same kind of training: Close" in one
    assert "just as well forget" not in one
    assert "By accuracy, just as well forget: Close" in two


def test_a_search_that_found_the_default_fails_with_it() -> None:
    """`close` fails the twin test; `searched` is the same method with the same numbers, `other` is another one."""
    names = ("close", "searched", "other")
    source = source_of({"one": [*answer("scratch", 0.5, 1.0), *(row for name in names for row in answer(name, 0.5))]})
    source.plan.methods.update(scratch="scratch", close="tuning", searched="tuning", other="other")
    failed = {"scenario": "one", "variant": "close", "client": -1, "twins_auc": 0.9, "forgotten": "no"}
    source.__dict__["forgetting"] = pd.DataFrame([failed])
    good, bad = findings(source)[0].split("As accurate as scratch, but failing")
    assert "Other" in good
    assert "Searched" not in good
    assert "Close" in bad
    assert "Searched" in bad
