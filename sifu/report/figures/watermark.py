"""Figure 2: the same with watermarked or backdoored clients."""

from __future__ import annotations

from matplotlib.figure import Figure

from sifu.report.figures.panels import panels
from sifu.report.figures.requests import ROWS
from sifu.report.results import Results
from sifu.report.statistics import to_target

TITLE = "Cost and forgetting of marked data"
CAPTION = (
    "As the figure without marks, for clients whose images carry a watermark (ten pixels at the maximum) or, "
    "beyond the paper, a trigger with a label of their own: aggregation rounds, and accuracy on the marked data "
    "of all who have left so far. A hollow mark: some seeds did not reach the target; a cross: all of them diverged. "
    "Mean over seeds and its 95% bootstrap interval (paper, figure 2)."
)


def draw(source: Results) -> Figure:
    return panels(source, ROWS, to_target(source.statistics), "request", "request", {"watermark", "backdoor"})
