"""Ours, for the paper's appendix A: what fine-tuning cannot reach."""

from __future__ import annotations

from matplotlib.figure import Figure

from sifu.report.figures.style import colours, finish, grid
from sifu.report.results import Results

TITLE = "Fine-tuning never forgets"
CAPTION = (
    "An under-determined linear regression, trained on 8 examples and fine-tuned without one of them: its distance to "
    "retraining, in the null space of the remaining examples and in their span. Median and range of ten problems "
    "(ours, for the argument of the paper's appendix A)."
)
_TITLES = (("null_space", "null space of the examples left"), ("span", "their span"))


def draw(source: Results) -> Figure:
    rows = source.null_space
    figure, axes = grid(1, 1, width=5.2, height=3.0)
    axis = axes[0, 0]
    if not len(rows):
        finish(axis, empty=True)
        return figure
    for colour, (column, title) in zip(colours(), _TITLES, strict=False):
        middle, low, high = (rows.groupby("step")[column].quantile(q) for q in (0.5, 0.0, 1.0))
        axis.plot(middle.index, middle, color=colour, label=title)
        axis.fill_between(middle.index, low, high, color=colour, alpha=0.2, linewidth=0)
    axis.set(yscale="log", xscale="symlog", xlabel="steps without the example", ylabel="distance to retraining")
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=1e-9)  # below it is rounding
    axis.legend(
        frameon=False, fontsize=8, title=f"median and range of {rows['seed'].nunique()} problems", title_fontsize=8
    )
    finish(axis)
    return figure
