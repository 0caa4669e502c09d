"""The paper's Figure 7: measured sensitivity against its bounds, under the scenarios' own settings and others."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sifu.plan.report_plan import ReportPlan
from sifu.report.bounds import RULES, rules_that_differ, share_held, single_clients
from sifu.report.figures.style import colours, finish, grid, legend, log_ticks
from sifu.report.results import Results

TITLE = "Is Psi a bound?"
CAPTION = (
    "Measured alpha(n, c), the distance of the training to the same training without client c, in which the next in "
    "line takes its seat, and its bounds Psi(n, c): as published, strictly counted for that run, and as if the seat "
    "stayed empty (the released code differs after a request only). Curves: medians over clients and seeds, under the "
    "scenario's own settings. Points: every round, client and seed, under its own settings and under less adapted "
    "ones, some of which do not converge. A bound holds where its points lie above the line; the titles say for which "
    "share they do. The last steps of models that explode lie outside (paper, Figure 7)."
)
_RULES = tuple(RULES)
_MOST_POINTS = 4000  # of a panel: more only make a larger file
_EXPLODED = 100  # times the 99th percentile of alpha: such points would press all others together
_CURVES = None  # in place of a change: the panel of medians
Panel = tuple[str, str | None]  # scenario, change (empty: its own settings)


def draw(source: Results) -> Figure:
    alpha = single_clients(source.alpha)
    rows = layout(source.plan, set(zip(alpha["scenario"], alpha["change"], strict=True)))
    figure, axes = grid(len(rows), max(len(row) for row in rows), width=2.7, height=2.6)
    for i, row in enumerate(rows):
        for axis, panel in zip(axes[i], row, strict=True):
            if panel is None:
                axis.axis("off")
            else:
                _panel(axis, source, alpha, *panel)
    legend(figure, below=True)
    return figure


def layout(plan: ReportPlan, measured: set[tuple[str, str]]) -> list[list[Panel | None]]:
    """A row for each scenario of the sweep; the others, of two panels each, share rows. None: an empty place.

    `measured`: scenarios and changes that have points; others have no panel.
    """
    jobs = plan.jobs.get("alpha_sweep", [])
    swept = {name: list(dict.fromkeys(job.part for job in jobs if job.scenario == name)) for name in plan.titles}
    present = {name: [change for change in more if (name, change) in measured] for name, more in swept.items()}
    most = max((len(changes) for changes in present.values()), default=0)
    width = max(4, 2 + most + most % 2)
    own: dict[str, list[Panel]] = {s: [(s, _CURVES), (s, "")] if (s, "") in measured else [] for s in plan.titles}
    full = [own[name] + [(name, change) for change in more] for name, more in present.items() if more]
    flat = [panel for name, more in present.items() if not more for panel in own[name]]
    rows = full + [flat[start : start + width] for start in range(0, len(flat), width)]
    used = max((len(row) for row in rows), default=1)
    return [[*row, *[None] * (used - len(row))] for row in rows] or [[None]]


def _panel(axis: Axes, source: Results, alpha: pd.DataFrame, scenario: str, change: str | None) -> None:
    part = alpha[(alpha["scenario"] == scenario) & (alpha["change"] == (change or ""))]
    title = source.plan.titles[scenario]
    if change is _CURVES:
        _curves(axis, part)
        axis.set_title(f"{title}\nits own settings\nmedians", fontsize=8)
        return
    part = part[part["alpha"] > 0]
    settings = source.plan.changes[change] if change else "its own settings"
    axis.set_title(f"{title}\n{settings}\n{_shares(part)}", fontsize=8)
    _points(axis, part)


def _shares(part: pd.DataFrame) -> str:
    """How many points lie above the line, rule by rule."""
    if not len(part):
        return "no points"
    shares = [f"{RULES[rule]} {share_held(part, rule):.1%}" for rule in rules_that_differ(part)]
    return "\n".join(["holds: " + ", ".join(shares[:2]), *shares[2:]])  # titles of neighbours must not touch


def _colour(rule: str) -> tuple[float, float, float]:
    return colours()[_RULES.index(rule)]


def _curves(axis: Axes, part: pd.DataFrame) -> None:
    if not len(part):
        finish(axis, empty=True)
        return
    middle = part.groupby("round")[["alpha", *(f"psi_{rule}" for rule in _RULES)]].median()
    axis.plot(middle.index, middle["alpha"], color="black", label="measured alpha")
    for rule in rules_that_differ(part):
        axis.plot(middle.index, middle[f"psi_{rule}"], color=_colour(rule), label=f"Psi, {RULES[rule]}")
    axis.set_yscale("symlog", linthresh=1e-2)
    axis.set_xlabel("round n", fontsize=8)
    axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, steps=[1, 2, 5, 10]))
    axis.tick_params(labelsize=8)
    finish(axis)


def _points(axis: Axes, part: pd.DataFrame) -> None:
    if not len(part):
        finish(axis, empty=True)
        return
    inside = part[part["alpha"] <= _EXPLODED * part["alpha"].quantile(0.99)]
    shown = inside.iloc[:: max(1, len(inside) // _MOST_POINTS)]
    for rule in rules_that_differ(part):
        axis.plot(shown["alpha"], shown[f"psi_{rule}"], ".", ms=2, alpha=0.4, color=_colour(rule), rasterized=True)
    ends = [inside["alpha"].min(), inside["alpha"].max()]
    axis.plot(ends, ends, color="black", linewidth=0.8)
    axis.set(xscale="log", yscale="log")
    axis.set_xlabel("measured alpha(n, c)", fontsize=8)
    axis.set_ylabel("bound Psi(n, c)", fontsize=8)
    axis.tick_params(labelsize=8)
    for which in ("x", "y"):
        log_ticks(axis, which)
    finish(axis)
