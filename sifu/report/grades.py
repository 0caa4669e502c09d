"""How well clients were forgotten: by the twin test where many models were compared, else by accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from sifu.report.forgetting import TOGETHER

CLOSE, FAR = 0.03, 0.1  # of accuracy on the forgotten clients, from scratch's
TWINS, ACCURACY = "twins", "accuracy"  # what a grade is by


class Grade(NamedTuple):
    """How well the clients were forgotten: words, a colour (Okabe and Ito's), a sign and a pattern besides it."""

    words: str
    colour: str
    sign: str
    pattern: str  # Matplotlib's hatch


FORGOTTEN = Grade("forgotten", "#009E73", "✓", "")
BY_ACCURACY = Grade("forgotten, by accuracy alone", "#c9eadf", "(✓)", "")  # drawn alone: paler, and with an edge
IN_PART = Grade("in part", "#E69F00", "~", "//")
NOT_FORGOTTEN = Grade("not forgotten", "#D55E00", "✗", "xx")
BELOW = Grade("less accurate than scratch", "#CC79A7", "↓", "--")
UNKNOWN = Grade("cannot tell", "#a3a3a3", "?", "")
GRADES = (FORGOTTEN, BY_ACCURACY, IN_PART, NOT_FORGOTTEN, BELOW, UNKNOWN)


def grade(gap: float, original: float = math.inf) -> Grade:
    """The grade of an accuracy on the forgotten clients that differs from scratch's by `gap`.

    `original` is the gap of the model before any request. Where even that one is not graded as not forgotten, no
    method can be. Without a gap nothing can be said.
    """
    if math.isnan(gap) or original <= FAR:
        return UNKNOWN
    if gap < -CLOSE:
        return BELOW
    return FORGOTTEN if gap <= CLOSE else IN_PART if gap <= FAR else NOT_FORGOTTEN


def by_twins(answers: Iterable[str]) -> Grade:
    """The grade of the column `forgotten?` over the requests: one that was remembered is enough for `not forgotten`."""
    found = set(answers)
    if "no" in found:
        return NOT_FORGOTTEN
    return FORGOTTEN if found == {"yes"} else UNKNOWN


def twin_grades(forgetting: pd.DataFrame) -> dict[tuple[str, str], Grade]:
    """By scenario and variant, where the twin test was made."""
    rows = forgetting[(forgetting["client"] == TOGETHER) & forgetting["twins_auc"].notna()]
    groups = rows.groupby(["scenario", "variant"])["forgotten"]
    return {(str(scenario), str(variant)): by_twins(answers) for (scenario, variant), answers in groups}
