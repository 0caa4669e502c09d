"""Words of a deviation that depend on what is stored."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from sifu.docs.deviation import Deviation
from sifu.docs.deviations_of_methods import METHODS


def row_of(subject: str) -> Deviation:
    (found,) = (one for one in METHODS if one.subject == subject)
    return found


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (["done", "not_reached"], ""),
        (
            ["not_reached", "not_reached"],
            " The most accurate C is used where no value reached the target: Digits (20 rounds).",
        ),
    ],
)
def test_a_search_in_which_no_value_reached_the_target_is_named(status: list[str], words: str) -> None:
    trials = pd.DataFrame({"scenario": "digits", "variant": "dp_released", "rounds": [10, 20], "status": status})
    run = SimpleNamespace(tables=SimpleNamespace(trials=trials), titles={"digits": "Digits"})
    effect = row_of("C of DP-FedAvg").row(run)[-1]  # type: ignore[arg-type]
    assert effect == f"[searches.md](searches.md) marks the paper's values.{words}"
