"""A run in six lines, from statistics whose numbers are on paper."""

from __future__ import annotations

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.in_short import in_short
from sifu.report.results import Results
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.schemas import CELLS, VERIFICATION

LABELS = {"original": "Original", "scratch": "Scratch", "sifu": "SIFU", "strict": "SIFU, strict", "dp": "DP"}


def numbers(variant: str, *, cost: float | None, forgotten: float, kept: float, done: float = 1.0) -> pd.DataFrame:
    """A variant's answers to two requests; the cost of the second one is twice that of the first."""
    rows = []
    for request in (1, 2):
        values = [("accuracy", "forgotten", forgotten), ("accuracy", "retain", kept), ("done", "", done)]
        if cost is not None:
            values.append(("steps_to_scratch", "", cost * request))
        rows += [(variant, request, *value) for value in values]
    frame = pd.DataFrame(rows, columns=["variant", "request", "quantity", "subset", "mean"])
    return frame.assign(scenario="digits", stop="target")


def certificate(variant: str, claimed: float, actual: float) -> pd.DataFrame:
    rows = [(variant, 1, "claimed_delta", "", claimed), (variant, 1, "actual_delta", "", actual)]
    frame = pd.DataFrame(rows, columns=["variant", "request", "quantity", "subset", "mean"])
    return frame.assign(scenario="digits", stop="target")


def spent(variant: str, *epsilons: float) -> pd.DataFrame:
    """Answers that promise epsilon 10 to each client alone, and spend these, seed by seed."""
    rows = pd.DataFrame({"spent_epsilon": epsilons}, columns=[column.name for column in CELLS.columns])
    named = {"scenario": "digits", "variant": variant, "stop": "target", "request": 1, "status": "done"}
    return rows.assign(**named, covers=1, claimed_epsilon=10.0, claimed_delta=0.01, sigma=1.0)


def source(*cells: pd.DataFrame) -> Results:
    results = Results(ReportPlan("", {"digits": "Digits"}, LABELS))
    results.__dict__["cells"] = pd.concat(cells) if cells else spent("none")
    results.__dict__["verification"] = pd.DataFrame(columns=[column.name for column in VERIFICATION.columns])
    return results


def test_what_every_method_costs_forgets_keeps_and_promises() -> None:
    table = pd.concat(
        [
            numbers("original", cost=0.0, forgotten=0.9, kept=0.93),  # no method: not in any list
            numbers("scratch", cost=1.0, forgotten=0.1, kept=0.93),
            numbers("sifu", cost=0.4, forgotten=0.4, kept=0.92),  # 0.4 and 0.8: 0.6 on average
            numbers("strict", cost=0.2, forgotten=0.11, kept=0.93),
            numbers("dp", cost=None, forgotten=0.5, kept=0.7, done=0.0),
            certificate("sifu", 0.01, 1.0),
            certificate("strict", 0.01, 0.0004),
        ]
    )
    assert in_short(source(), table) == [
        "Cost of a request, client steps relative to training again (scratch), mean: SIFU, strict 0.30; SIFU 0.60; "
        "target accuracy missed: DP.",
        "Forgotten by accuracy after 2 requests as by scratch: SIFU, strict. "
        "Off scratch's accuracy on forgotten clients: SIFU +0.30; DP +0.40.",
        "Kept: accuracy on the remaining clients as after scratch (0.93) with all methods but DP 0.70.",
        "Certificates, delta claimed, and actual for all forgotten clients together: "
        "SIFU 0.01 and 1; SIFU, strict 0.01 and 0.0004.",
    ]


def test_a_promise_to_one_client_is_kept_where_every_seed_keeps_it() -> None:
    """9 and 9.5 of 10 are kept; 5 and 12 are not, though their mean is."""
    table = pd.concat([certificate("sifu", 0.01, 1.0), certificate("dp", 0.01, 1.0)])
    assert in_short(source(spent("dp", 9.0, 9.5), spent("sifu", 5.0, 12.0)), table) == [
        "Certificates, delta claimed, and actual for all forgotten clients together: "
        "SIFU 0.01 and 1; DP 0.01 and 1 (kept for one client)."
    ]


def test_where_no_method_forgets_as_scratch_does() -> None:
    parts = [
        numbers("scratch", cost=1.0, forgotten=0.1, kept=0.93),
        numbers("sifu", cost=0.4, forgotten=0.4, kept=0.92),
    ]
    words = (
        "Forgotten by accuracy after 2 requests as by scratch: no method. "
        "Off scratch's accuracy on forgotten clients: SIFU +0.30."
    )
    assert words in in_short(source(), pd.concat(parts))


def test_who_fails_the_twin_test_on_the_same_dataset_has_not_forgotten() -> None:
    parts = [numbers(name, cost=1.0, forgotten=0.1, kept=0.93) for name in ("scratch", "sifu", "strict")]
    results = source()
    results.plan.trainings.update(digits="mnist", twins="mnist")
    tested = {"scenario": "twins", "request": 1, "client": -1, "models": 100, "twins_null": 0.04, "original_auc": 1.0}
    answers = [("sifu", 0.9, "no"), ("strict", 0.5, "yes")]
    rows = [tested | {"variant": name, "twins_auc": auc, "forgotten": word} for name, auc, word in answers]
    results.__dict__["forgetting"] = pd.DataFrame(rows, columns=[column.name for column in FORGETTING.columns])
    line = in_short(results, pd.concat(parts))[1]
    assert line.endswith("as by scratch: SIFU, strict. As accurate, but failing the twin test: SIFU.")


def test_without_scratch_nothing_is_compared() -> None:
    table = numbers("sifu", cost=None, forgotten=0.4, kept=0.9)
    assert in_short(source(), table) == []


def test_nothing_is_compared_with_a_scratch_that_fell_short() -> None:
    parts = [
        numbers("scratch", cost=None, forgotten=0.3, kept=0.4, done=0.25),
        numbers("sifu", cost=None, forgotten=0.3, kept=0.2, done=0.0),
        certificate("sifu", 0.01, 1.0),
    ]
    first, *others = in_short(source(), pd.concat(parts))
    assert first.startswith(
        "Scratch met the target accuracy in 25% of its answers: costs and accuracies are not compared"
    )
    assert len(others) == 1, "what certificates are worth does not depend on it"


def test_without_any_statistics_there_are_no_lines() -> None:
    table = numbers("sifu", cost=None, forgotten=0.4, kept=0.9)
    assert in_short(source(), table.iloc[:0]) == []
