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


def released(*nodes: tuple[int, int, int], stop: str = "target", variant: str = "sifu_released") -> pd.DataFrame:
    """Cells of one seed each: request, branch, round."""
    rows = pd.DataFrame(nodes, columns=["request", "branch", "cut_round"]).assign(seed=range(len(nodes)))
    return rows.assign(scenario="digits", variant=variant, stop=stop)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (
            [(3, 2, 0), (3, 2, 1), (3, 1, 0), (3, 0, 0), (2, 1, 0)],
            "It occurs in 1 of 4 stored recoveries to the target",
        ),
        ([(3, 2, 7)], "It occurs in 0 of 1 stored recoveries to the target from the third request on. What"),
        ([(4, 3, 0), (3, 2, 0)], "from the third request on: Digits (2 of 2). What"),
        ([(1, 0, 0), (2, 1, 0)], "No recovery to the target from a third request is stored. Not measured."),
    ],
)
def test_first_models_of_later_branches_are_counted(nodes: list[tuple[int, int, int]], words: str) -> None:
    others = [released((3, 2, 0), stop="budget_25"), released((3, 2, 0), variant="sifu")]
    tables = SimpleNamespace(cells=pd.concat([released(*nodes), *others]))
    run = SimpleNamespace(tables=tables, titles={"digits": "Digits"})
    assert words in row_of("List of checkpoints, SIFU as released").row(run)[-1]  # type: ignore[arg-type]
