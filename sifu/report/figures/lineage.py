"""Ours, after the illustration in the paper's Figure 1: branches start where a request went back to."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.style import colours, finish, grid, legend
from sifu.report.results import Results

TITLE = "Lineage of a run"
CAPTION = (
    "SIFU's branches in one scenario, from the tables of one seed: the training (branch 0), then a branch for each "
    "request, which starts at the round of the branch that it went back to. Rounds that led to the current model are "
    "drawn solid, rounds that were dropped faint (ours: the lineage H(u), which the paper's Figure 1 illustrates)."
)
_VARIANTS = ("sifu", "sifu_strict", "sifu_released")


def draw(source: Results) -> Figure:
    """The first scenario of the plan that has one, its first seed."""
    plan = source.plan
    variant = next((name for name in _VARIANTS if name in plan.shown), None)
    cells = source.cells[(source.cells["variant"] == variant) & (source.cells["stop"] == "target")]
    cells = cells.dropna(subset=["branch", "cut_round"])  # refused cells have none
    cells = cells.merge(source.training[["scenario", "seed"]])  # a lineage starts with its training
    scenario = next((name for name in plan.titles if name in set(cells["scenario"])), "")
    figure, axes = grid(1, 1, width=6.0, height=2.8)
    axis, own = axes[0, 0], cells[cells["scenario"] == scenario]
    if own.empty:
        finish(axis, empty=True)
        return figure
    seed = int(own["seed"].min())
    training = source.training[(source.training["scenario"] == scenario) & (source.training["seed"] == seed)]
    branches = own[own["seed"] == seed].sort_values("request")
    rounds = [int(training["rounds"].iloc[0]), *branches["rounds"].astype(int)]
    _tree(axis, rounds, list(zip(branches["branch"], branches["cut_round"], strict=True)))
    axis.set(title=f"{plan.titles[scenario]}, seed {seed}", xlabel="aggregation rounds from the first", ylabel="branch")
    legend(figure)
    return figure


def lineage(rounds: list[int], cuts: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Where each branch starts, in rounds from the first model, and how many of its rounds are still in H(u)."""
    starts, kept = [0], list(rounds[:1])
    for number, (branch, cut) in enumerate(cuts, start=1):
        branch, cut = int(branch), int(cut)
        starts.append(starts[branch] + cut if branch >= 0 else 0)
        kept = [old if u < branch else min(old, cut) if u == branch else 0 for u, old in enumerate(kept)]
        kept.append(rounds[number])
    return starts, kept


def _tree(axis: Axes, rounds: list[int], cuts: list[tuple[int, int]]) -> None:
    starts, kept = lineage(rounds, cuts)
    for u, (start, length, alive) in enumerate(zip(starts, rounds, kept, strict=True)):
        colour = colours()[u % 10]
        name = "training" if u == 0 else f"request {u}"
        axis.plot([start, start + length], [u, u], color=colour, alpha=0.25, linewidth=4, solid_capstyle="butt")
        axis.plot([start, start + alive], [u, u], color=colour, linewidth=4, solid_capstyle="butt", label=name)
        if u:
            axis.plot([start, start], [max(0, int(cuts[u - 1][0])), u], color="black", linewidth=0.8, linestyle=":")
            axis.plot(start, u, marker="o", ms=5, color="black")
    axis.invert_yaxis()
    axis.set_yticks(range(len(rounds)))
    finish(axis)
