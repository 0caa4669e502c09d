"""The figure of audits: a line a method over the clients that have left, an arrow where models could prove no more."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from sifu.report.figures import audit
from sifu.report.results import Results
from sifu.store.experiment_schemas import AUDIT
from tests.unit.report.test_missing import plan_of


def row(clients: int, proved: float, most: float, who: str = "request") -> dict[str, object]:
    key = {"scenario": "smoke", "variant": "sifu", "who": who, "seed": 0, "request": clients, "clients": clients}
    found = {"claimed_epsilon": 10.0, "strict_epsilon": math.inf, "proved_epsilon": proved, "most_provable": most}
    found["measured_epsilon"] = 17.0
    return dict.fromkeys((column.name for column in AUDIT.columns), None) | key | found


def test_proved_and_claimed_over_the_clients_that_have_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests of three and four clients, and one client alone; of the second request all is proved that a thousand
    models can prove. One place a number of clients: 1, 3, 7.
    """
    table = pd.DataFrame([row(7, 6.0, 6.0), row(3, 0.5, 6.0), row(1, 2.0, 6.0, "client 1")])
    monkeypatch.setattr(Results, "audit", table)
    figure = audit.draw(Results(plan_of(tmp_path)))
    (axis,) = [axis for axis in figure.axes if axis.axison]
    proved, measured, strict, claimed = axis.get_lines()
    assert proved.get_xydata().tolist() == [[0, 2.0], [1, 0.5], [2, 6.0]]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "3", "7"]
    assert measured.get_ydata().tolist() == [17.0] * 3
    assert claimed.get_xydata()[:, 1].tolist() == [10.0, 10.0]
    assert all(math.isinf(value) for value in strict.get_ydata())
    assert [text.xy for text in axis.texts] == [(2, 6.0)], "one arrow"
    kinds = [text.get_text() for text in figure.legends[0].get_texts()][1:]
    assert kinds == [
        "proved (at least)",
        "measured (alpha)",
        "strict count (Psi)",
        "claimed",
        "limit of so many models",
    ]
    figure.draw_without_rendering()


def test_methods_at_the_same_place_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame([row(1, 6.0, 6.0), row(1, 6.0, 6.0) | {"variant": "scratch"}])
    monkeypatch.setattr(Results, "audit", table)
    axis = next(axis for axis in audit.draw(Results(plan_of(tmp_path))).axes if axis.axison)
    marked = [line for line in axis.get_lines() if line.get_marker() not in ("", "None")]
    places = sorted(float(line.get_xydata()[0, 0]) for line in marked)
    assert places == pytest.approx([-0.05, -0.05, 0.05, 0.05])  # proved and measured of both
