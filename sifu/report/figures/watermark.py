"""The paper's Figure 3: cost and forgetting, request after request, of watermarked or backdoored clients."""

from __future__ import annotations

from matplotlib.figure import Figure

from sifu.report.figures.panels import panels
from sifu.report.figures.requests import ROWS
from sifu.report.results import Results
from sifu.report.statistics import to_target

TITLE = "Cost and forgetting of marked data"
CAPTION = (
    "As figure `requests`, for clients whose images carry a watermark (ten pixels at the maximum) or, beyond the "
    "paper, a trigger with a label of their own: aggregation rounds, and accuracy on the marked data of all clients "
    "forgotten so far. A hollow mark: some seeds did not reach the target; a cross: all of them diverged. Mean over "
    "seeds and its 95% bootstrap interval (paper, Figure 3). At most 12 panels,"
    " a scenario a dataset first: the tables have the rest."
)


def draw(source: Results) -> Figure:
    return panels(source, ROWS, to_target(source.statistics), "request", "request", {"watermark", "backdoor"})
