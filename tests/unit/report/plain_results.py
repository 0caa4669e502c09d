"""A report of one scenario whose data have no marks, before anything was run."""

from __future__ import annotations

from matplotlib.axes import Axes

from sifu.plan.report_plan import ReportPlan
from sifu.report.results import Results


def plain_results(labels: dict[str, str]) -> Results:
    """Scenario s, and a variant of each of these methods, by its name and its label."""
    methods = {name: name for name in labels}
    return Results(ReportPlan("", {"s": "S"}, labels, methods, shown=list(labels), marks={"s": "plain"}))


def crossed(axis: Axes) -> list[list[float]]:
    """Where an axis has crosses."""
    return [point for line in axis.lines if line.get_marker() == "x" for point in line.get_xydata().tolist()]
