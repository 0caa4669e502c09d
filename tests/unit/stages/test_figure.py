"""A figure whose module is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.catalog.figures import FIGURES, FigureSpec
from sifu.errors import SifuError
from sifu.plan.report_plan import ReportPlan
from sifu.stages.figure import run_figure


def test_a_module_that_cannot_be_imported_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_figure.py").write_text("TITLE = 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(FIGURES, "broken", FigureSpec("broken_figure"))
    with pytest.raises(
        SifuError, match=r"importing broken_figure failed with ZeroDivisionError: .*broken_figure.py, line 1"
    ):
        run_figure(ReportPlan(str(tmp_path)), "broken", tmp_path)
    assert not (tmp_path / "figures").exists()
