"""The paper's Figure 2: gaps to scratch on retain and forget sets under time budgets."""

from __future__ import annotations

from matplotlib.figure import Figure

from sifu.report.figures.panels import panels
from sifu.report.results import Results

TITLE = "Gap to scratch under a budget, after the first request"
CAPTION = (
    "Absolute gap of accuracy to scratch (run to its own target) on the data of the remaining clients and of the "
    "forgotten clients, after the first request, when recovery may take 25, 33 or 50% of the training's client steps. "
    "Mean over seeds and its 95% bootstrap interval; lower is better. The band, where there is one, is the floor: "
    "the gap of scratch, run again to its target with other cohorts and batches (paper, Figure 2). At most 12 panels,"
    " a scenario a dataset first: the tables have the rest."
)


def draw(source: Results) -> Figure:
    numbers = source.statistics
    limited = numbers[(numbers["stop"] != "target") & (numbers["request"] == 1)]
    limited = limited.assign(budget=limited["stop"].str.removeprefix("budget_").astype(int))
    rows = (("gap_to_scratch", "retain", "gap on retain"), ("gap_to_scratch", "forget", "gap on forget"))
    return panels(source, rows, limited, "budget", "budget, % of the training", {"plain"})
