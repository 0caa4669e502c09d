"""The paper's Figure 4: cost and forgetting, request after request, without a watermark."""

from __future__ import annotations

from matplotlib.figure import Figure

from sifu.report.figures.panels import Row, panels
from sifu.report.results import Results
from sifu.report.statistics import to_target

TITLE = "Cost and forgetting, request after request"
CAPTION = (
    "Aggregation rounds until the target accuracy, and accuracy on all clients forgotten so far, after each request. "
    "Mean over seeds and its 95% bootstrap interval; lower is better, but forgetting is perfect at scratch's accuracy, "
    "not at 0. A hollow mark: some seeds had not reached the target when they were stopped; they count with the rounds "
    "they had, and would take more. Seeds that diverged have no rounds; a cross stands where all of them did (paper, "
    "Figure 4). At most 12 panels,"
    " a scenario a dataset first: the tables have the rest."
)
ROWS: tuple[Row, ...] = (("rounds", "", "aggregation rounds"), ("accuracy", "forgotten", "accuracy on the forgotten"))


def draw(source: Results) -> Figure:
    return panels(source, ROWS, to_target(source.statistics), "request", "request", {"plain"})
