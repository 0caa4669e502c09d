"""The paper's Figure 7: measured sensitivity against its bounds, under the scenarios' own settings and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from sifu.report.bounds import RULES, rules_that_differ, share_held, single_clients
from sifu.report.figures.style import colours, finish, log_ticks
from sifu.report.results import Results

TITLE = "Is Psi a bound?"
CAPTION = (
    "Is the measured alpha(n, c) below its bound Psi(n, c)? alpha is the distance of the training to the same training "
    "without client c, in which the next in line takes its seat. Three bounds: Psi as published, as strictly counted "
    "for that run, and as if the seat stayed empty (the released code differs after a request only). A cell: the share "
    "of points, of every round, client and seed, for which the bound holds. Above, a map a bound: a row a scenario, a "
    "column the settings of its federation: its own, and less adapted ones, some of which do not converge. Below, the "
    "scenarios that were run under their own settings alone, a column a bound. The last panel is the example of the "
    "first scenario under its own settings: a bound holds where its points lie above the line; the last steps of a "
    "model that explodes lie outside (paper, Figure 7)."
)
_RULES = tuple(RULES)
_MAPS = ("published", "strict", "empty_seats")
_MOST_POINTS = 1500  # more only make a larger file
_EXPLODED = 100  # times the 99th percentile of alpha: such points would press all others together
_OWN = "its own"
_WIDTH = 8.4  # inches
_ROW, _AROUND, _EXAMPLE = 0.24, 0.85, 3.2  # inches: of a row, of titles and labels, of the example


def draw(source: Results) -> Figure:
    alpha = single_clients(source.alpha)
    alpha = alpha[alpha["alpha"] > 0]
    scenarios = [name for name in source.plan.titles if name in set(alpha["scenario"])]
    changes = ["", *(name for name in source.plan.changes if name in set(alpha["change"]))]
    swept = [name for name in scenarios if (alpha.loc[alpha["scenario"] == name, "change"] != "").any()]
    alone = [name for name in scenarios if name not in swept]
    heights = [_AROUND + _ROW * len(swept)] * bool(swept) + [max(_EXAMPLE, _AROUND + _ROW * len(alone))]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    parts = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    if swept:
        _by_setting(_side_by_side(parts[0], len(_MAPS)), source, alpha, swept, changes)
    below = _side_by_side(parts[-1], 2 if alone else 1)
    if alone:
        _alone(below[0], source, alpha, alone)
    _example(below[-1], source, alpha, scenarios)
    return figure


def _side_by_side(part: SubplotSpec, count: int) -> list[Axes]:
    """Panels in a part of a figure."""
    return list(part.subgridspec(1, count).subplots(squeeze=False)[0])


def _by_setting(
    axes: list[Axes], source: Results, alpha: pd.DataFrame, scenarios: list[str], changes: list[str]
) -> None:
    """Scenarios with other settings: a map a bound, a column a setting."""
    columns = [source.plan.changes[change] if change else _OWN for change in changes]
    for axis, rule in zip(axes, _MAPS, strict=True):
        _map(axis, _shares(alpha, rule, scenarios, changes), columns)
        axis.set_title(f"Psi, {RULES[rule]}: holds for", fontsize=9)
        axis.set_yticks(range(len(scenarios)), [source.plan.titles[name] for name in scenarios])
        axis.tick_params(labelleft=axis is axes[0])


def _alone(axis: Axes, source: Results, alpha: pd.DataFrame, scenarios: list[str]) -> None:
    """Scenarios without other settings: a column a bound."""
    shares = pd.concat([_shares(alpha, rule, scenarios, [""]) for rule in _MAPS], axis=1)
    _map(axis, shares, [RULES[rule] for rule in _MAPS])
    axis.set_title("their own settings: Psi holds for", fontsize=9)
    axis.set_yticks(range(len(scenarios)), [source.plan.titles[name] for name in scenarios])


def _shares(alpha: pd.DataFrame, rule: str, scenarios: list[str], changes: list[str]) -> pd.DataFrame:
    """The share of points below the bound, a row a scenario and a column a setting; nan: not measured."""
    groups = {key: share_held(points, rule) for key, points in alpha.groupby(["scenario", "change"])}
    rows = [[groups.get((name, change), np.nan) for change in changes] for name in scenarios]
    return pd.DataFrame(rows, index=scenarios, columns=changes)


def _map(axis: Axes, shares: pd.DataFrame, columns: list[str]) -> None:
    numbers = shares.to_numpy(float)
    axis.imshow(numbers, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for i, j in np.argwhere(~np.isnan(numbers)):
        dark = numbers[i, j] < 0.6
        colour = "white" if dark else "black"
        axis.text(j, i, _percent(numbers[i, j]), ha="center", va="center", fontsize=8, color=colour)
    axis.set_xticks(range(len(columns)), columns, rotation=30, ha="right", rotation_mode="anchor")
    axis.tick_params(length=0, labelsize=8)
    for side in axis.spines.values():
        side.set_visible(False)


def _percent(share: float) -> str:
    """Whole percents, but never 100% where a point is above its bound, nor 0% where one is below."""
    if share in (0.0, 1.0) or 0.005 <= share < 0.995:
        return f"{share:.0%}"
    return "<0.1%" if share < 0.001 else ">99.9%" if share > 0.999 else f"{share:.1%}"


def _example(axis: Axes, source: Results, alpha: pd.DataFrame, scenarios: list[str]) -> None:
    """Points of the first scenario under its own settings."""
    own = [name for name in scenarios if ((alpha["scenario"] == name) & (alpha["change"] == "")).any()]
    if not own:
        finish(axis, empty=True)
        return
    _points(axis, alpha[(alpha["scenario"] == own[0]) & (alpha["change"] == "")])
    axis.set_title(f"example: {source.plan.titles[own[0]]}, its own settings", fontsize=9)
    axis.legend(frameon=False, fontsize=8, markerscale=4, loc="upper left", labelspacing=0.2, handletextpad=0.2)


def _colour(rule: str) -> tuple[float, float, float]:
    return colours()[_RULES.index(rule)]


def _points(axis: Axes, part: pd.DataFrame) -> None:
    inside = part[part["alpha"] <= _EXPLODED * part["alpha"].quantile(0.99)]
    shown = inside.iloc[:: max(1, len(inside) // _MOST_POINTS)]
    marks: dict[str, Any] = {"marker": ".", "linestyle": "", "ms": 2, "rasterized": True}
    for rule in rules_that_differ(part):
        label = f"Psi, {RULES[rule]}"
        axis.plot(shown["alpha"], shown[f"psi_{rule}"], color=_colour(rule), label=label, **marks)
    ends = [inside["alpha"].min(), inside["alpha"].max()]
    axis.plot(ends, ends, color="black", linewidth=0.8)
    axis.set(xscale="log", yscale="log")
    axis.set_xlabel("measured alpha(n, c)", fontsize=8)
    axis.set_ylabel("bound Psi(n, c)", fontsize=8)
    axis.tick_params(labelsize=8)
    for which in ("x", "y"):
        log_ticks(axis, which)
    finish(axis)
