"""Cost and forgetting over all requests of a seed, compared with scratch's."""

from __future__ import annotations

import pandas as pd

from sifu.report.floor import AGAIN
from sifu.report.judged_promises import DIVERGED
from sifu.report.statistics import REFERENCE, paid_steps

_SEED = ["scenario", "variant", "seed"]


def request_totals(cells: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """A row a scenario and variant, of recoveries to the target.

    `seeds`: how many were run; `recovered`: those that reached the target after every request; `once`: those that
    reached it after at least one; `refused`: whether the method refused the scenario; `diverged`: whether every answer
    diverged; `compared`: recovered seeds in which scratch recovered, too. Over these: `cost`, the paid steps of all
    requests over scratch's, seed by seed, then averaged; `gap`, the accuracy on all forgotten clients minus scratch's,
    averaged over requests and seeds. `gap_of_all`: the same gap over all seeds. `floor`: the mean absolute gap of
    scratch, run again, in the same scenario; nan where it was not.
    """
    seeds = _by_seed(cells[cells["stop"] == "target"]).merge(_accuracy(metrics), how="left", on=_SEED)
    scratch = seeds.loc[seeds["variant"] == REFERENCE, ["scenario", "seed", "steps", "recovered", "accuracy"]]
    seeds = seeds.merge(scratch, how="left", on=["scenario", "seed"], suffixes=("", "_scratch"))
    both = seeds["recovered"] & seeds["recovered_scratch"].eq(True)
    gap = seeds["accuracy"] - seeds["accuracy_scratch"]
    cost = seeds["steps"] / seeds["steps_scratch"]
    found = seeds.assign(compared=both, cost=cost.where(both), gap=gap.where(both), gap_of_all=gap)
    totals = found.groupby(["scenario", "variant"], as_index=False).agg(
        seeds=("seed", "size"),
        recovered=("recovered", "sum"),
        once=("once", "sum"),
        refused=("refused", "all"),
        diverged=("diverged", "all"),
        compared=("compared", "sum"),
        cost=("cost", "mean"),
        gap=("gap", "mean"),
        gap_of_all=("gap_of_all", "mean"),
    )
    again = found[found["variant"] == AGAIN]
    floor = again["gap"].abs().groupby(again["scenario"]).mean()
    return totals.assign(floor=totals["scenario"].map(floor).astype(float))


def _by_seed(cells: pd.DataFrame) -> pd.DataFrame:
    """Client steps of a seed, of its requests and of spare clients in its training; how its requests ended."""
    statuses = {"recovered": "done", "refused": "refused", "diverged": DIVERGED}
    ended = {name: cells["status"] == status for name, status in statuses.items()}
    marked = cells.assign(**ended, paid=paid_steps(cells))
    return marked.groupby(_SEED, as_index=False).agg(
        steps=("paid", "sum"),
        recovered=("recovered", "all"),
        once=("recovered", "any"),
        refused=("refused", "all"),
        diverged=("diverged", "all"),
    )


def _accuracy(metrics: pd.DataFrame) -> pd.DataFrame:
    """Accuracy on all clients that were forgotten so far, averaged over the requests of a seed."""
    wanted = (metrics["stop"] == "target") & (metrics["metric"] == "accuracy") & (metrics["subset"] == "forgotten")
    return metrics[wanted].groupby(_SEED, as_index=False).agg(accuracy=("value", "mean"))
