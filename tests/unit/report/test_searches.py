"""What people see of searches: costs that are lower bounds, and what decided."""

from __future__ import annotations

import pandas as pd

from sifu.report.scenario_searches import scenario_searches
from sifu.report.searches import searches


def test_a_trial_that_was_stopped_does_not_look_cheap() -> None:
    rows = [
        {"scenario": "s", "variant": "v", "setting": "clip", "place": place, "value": str(place), "seed": seed}
        | {"status": status, "rounds": 10 + seed, "client_steps": 100, "accuracy": 0.5, "chosen": place == 0}
        | {"forget_accuracy": 0.5 + place, "retrained_accuracy": 0.75 if place else None}
        for place, seed, status in [(0, 0, "done"), (0, 2, "done"), (1, 0, "done"), (1, 2, "not_reached")]
    ]
    trials = pd.DataFrame(rows)
    found = searches(trials, {})
    assert found["rounds"].tolist() == ["11", ">= 11"]
    assert found["client steps"].tolist() == ["100", ">= 100"]
    assert found["chosen"].tolist() == ["by client steps", ""]
    assert found["remembers"].tolist() == ["", "+0.750"], "1.5 - 0.75; not measured"
    assert searches(trials.assign(status="not_reached"), {})["chosen"].tolist() == ["by accuracy", ""]
    whole = scenario_searches(trials.assign(training_rounds=7, used=True), {})
    assert whole[["rounds", "recovery"]].to_numpy().tolist() == [["7", "11"], [">= 7", ">= 11"]]


def test_what_decided_a_search_is_said() -> None:
    """Values 1, 2 and 3 with 10, 20 and 30 steps; a retraining has 0.1 on the data of forgotten clients."""

    def reason(chosen: int, known: tuple[float, ...], status: str = "done") -> str:
        key = {"scenario": "s", "variant": "v", "setting": "lr", "seed": 0, "rounds": 1, "status": status}
        rows = [
            key
            | {"place": n, "value": str(n + 1), "client_steps": 10 * (n + 1), "accuracy": 0.5, "chosen": n == chosen}
            | {"forget_accuracy": more, "retrained_accuracy": 0.1}
            for n, more in enumerate(known)
        ]
        return str(searches(pd.DataFrame(rows), {})["chosen"].iloc[chosen])

    assert reason(0, (0.1, 0.1, 0.1)) == "by client steps, at the edge"
    assert reason(1, (0.9, 0.1, 0.1)) == "by forgetting"
    assert reason(1, (0.9, 0.3, 0.8)) == "nearest to forgetting"
    assert reason(1, (0.1, 0.9, 0.1), "not_reached") == "by accuracy"
    assert reason(1, (0.9, 0.1)) == "by forgetting", "of two values each is at an edge"
