"""The figures, a line each: a module with TITLE, CAPTION and `draw(results)`, and the tables that it is drawn from.

Where the words depend on what is there, the module has a function `caption(results)` as well.
"""

from __future__ import annotations

from typing import NamedTuple

_ANSWERS = ("unlearn/cells", "verify/metrics")


class FigureSpec(NamedTuple):
    module: str
    tables: tuple[str, ...] = _ANSWERS  # "stage/table": a change of one of them draws the figure again
    needs: str = "unlearn"  # the stage without whose jobs there is nothing to draw


FIGURES: dict[str, FigureSpec] = {
    "overview": FigureSpec("sifu.report.figures.overview", (*_ANSWERS, "forgetting/forgetting", "alpha/alpha")),
    "budgets": FigureSpec("sifu.report.figures.budgets"),
    "watermark": FigureSpec("sifu.report.figures.watermark"),
    "requests": FigureSpec("sifu.report.figures.requests"),
    "sigma": FigureSpec("sifu.report.figures.sigma", (*_ANSWERS, "sweep/sweep"), needs="sweep"),
    "setting_sweep": FigureSpec(
        "sifu.report.figures.setting_sweep", (*_ANSWERS, "setting_sweep/setting_sweep"), needs="setting_sweep"
    ),
    "request_sets": FigureSpec(
        "sifu.report.figures.request_sets", ("request_sets/request_sets",), needs="request_sets"
    ),
    "frontier": FigureSpec("sifu.report.figures.frontier", ("unlearn/cells", "sweep/sweep", "alpha/alpha")),
    "audit": FigureSpec("sifu.report.figures.audit", ("audit/audit",), needs="audit"),
    "alpha": FigureSpec("sifu.report.figures.alpha", ("alpha/alpha", "alpha_sweep/alpha"), needs="alpha"),
    "lineage": FigureSpec("sifu.report.figures.lineage", ("unlearn/cells", "train/cells")),
    "power": FigureSpec("sifu.report.figures.power", ("forgetting/power",), needs="forgetting"),
    "atlas": FigureSpec("sifu.report.figures.atlas", ("atlas/atlas",), needs="atlas"),
    "null_space": FigureSpec("sifu.report.figures.null_space", ("null_space/null_space",), needs="null_space"),
}
