"""The words of the table and figure `power`: of the metrics that they have, and of no others."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pytest

from sifu.forgetting.power import SCORES
from sifu.forgetting.sample import NEEDS
from sifu.report.figures import power as figure
from sifu.report.power import caption, power_table
from sifu.stages.power import TWINS, WORST

ALL = [*SCORES, TWINS, WORST]
WITH_WORDS = {"the twin test", "accuracy", "disagreement", "the worst decile"}


@dataclass(frozen=True)
class Source:
    power: pd.DataFrame


def rows(metrics: list[str], effect: float = 0.5) -> pd.DataFrame:
    key = {"scenario": "mnist", "request": 1, "models": 10, "oracles": 20}
    return pd.DataFrame([key | {"metric": name, "effect": effect} for name in metrics])


@pytest.mark.parametrize("metrics", [ALL, ["auc", "klom", "twins"], ["auc"]])
def test_captions_define_the_metrics_that_are_there(metrics: list[str]) -> None:
    there = {NEEDS[name].name for name in metrics}
    table = rows(metrics)
    assert set(power_table(table)) == {"scenario", "request", "models a world", *there}
    for words in (caption(table), figure.caption(Source(table))):  # type: ignore[arg-type]
        assert {name for name in WITH_WORDS if f"`{name}`: " in words} == WITH_WORDS & there
        assert ("remaining clients" in words) == (WORST in metrics)


def test_a_figure_speaks_of_what_it_draws() -> None:
    """A metric that finds nothing has a column, and no line."""
    table = pd.concat([rows(["auc"]), rows(["accuracy"], float("inf"))])
    assert "`accuracy`: " in caption(table)
    assert "`accuracy`: " not in figure.caption(Source(table))  # type: ignore[arg-type]


def test_every_line_has_a_look_of_its_own() -> None:
    assert len(figure._MARKERS) >= len(ALL)
