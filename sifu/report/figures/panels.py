"""A panel a scenario and quantity over requests or budgets: what several figures of the paper look like."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from sifu.report.figures.style import finish, grid, legend, lines
from sifu.report.plan import Source

Row = tuple[str, str, str]  # quantity, subset, title of the axis


def panels(source: Source, rows: tuple[Row, ...], part: pd.DataFrame, x: str, x_title: str, kinds: set[str]) -> Figure:
    """`part` of the statistics; scenarios of the given `kinds` (plain, watermark, backdoor)."""
    plan = source.plan
    scenarios = [name for name in plan.titles if plan.marks[name] in kinds and name in set(part["scenario"])]
    figure, axes = grid(len(rows), max(1, len(scenarios)))
    for i, (quantity, subset, title) in enumerate(rows):
        chosen = part[(part["quantity"] == quantity) & (part["subset"] == subset)]
        for j, scenario in enumerate(scenarios):
            lines(axes[i, j], source, chosen[chosen["scenario"] == scenario], x)
            axes[i, j].set_xticks(sorted(chosen[x].unique()))
            if i == 0:
                axes[i, j].set_title(plan.titles[scenario])
            if i + 1 == len(rows):
                axes[i, j].set_xlabel(x_title)
        axes[i, 0].set_ylabel(title)
        if not scenarios:
            finish(axes[i, 0], empty=True)
    legend(figure)
    return figure
