"""Figure 5: which clients are forgotten."""

from __future__ import annotations

from matplotlib.figure import Figure

from sifu.report.figures.style import finish, grid, legend, lines
from sifu.report.plan import Source
from sifu.report.statistics import intervals

TITLE = "Which clients are forgotten"
CAPTION = (
    "One request after the training, for each of several sets of clients: each class in turn where clients hold "
    "one, random sets elsewhere. Aggregation rounds and accuracy on those who left. Mean over seeds and its 95% "
    "bootstrap interval. The training of DP-FedAvg is not counted (paper, figure 5)."
)
_ROWS = (("rounds", "aggregation rounds"), ("forget_accuracy", "accuracy on the forgotten"))


def draw(source: Source) -> Figure:
    rows = source.request_sets
    scenarios = [name for name in source.plan.titles if name in set(rows["scenario"])]
    figure, axes = grid(2, max(1, len(scenarios)), width=4.2)
    for i, (column, title) in enumerate(_ROWS):
        for j, scenario in enumerate(scenarios):
            part = intervals(rows[rows["scenario"] == scenario], ["variant", "set"], column)
            lines(axes[i, j], source, part, "set")
            axes[i, j].set_xticks(sorted(part["set"].unique()))
            axes[i, j].set_title(source.plan.titles[scenario] if i == 0 else "")
        axes[i, 0].set_ylabel(title)
        if not scenarios:
            finish(axes[i, 0], empty=True)
    for axis in axes[1]:
        axis.set_xlabel("set (class, where clients hold one)")
    legend(figure)
    return figure
