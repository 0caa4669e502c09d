"""Cost and forgetting over all requests of a seed, compared with scratch's."""

from __future__ import annotations

import pandas as pd

from sifu.report.statistics import REFERENCE

_CELL = ["scenario", "variant"]


def request_totals(cells: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """A row a scenario and variant, of recoveries to the target.

    `seeds`: how many were run; `recovered`: those that reached the target after every request; `refused`: whether the
    method refused the scenario; `compared`: recovered seeds in which scratch recovered, too. Over these: `cost`, the
    client steps of all requests over scratch's, seed by seed, then averaged; `gap`, the accuracy on all forgotten
    clients minus scratch's, averaged over requests and seeds. `gap_of_all`: the same gap over all seeds.
    """
    to_target = cells[cells["stop"] == "target"]
    seeds = _by_seed(to_target).join(_accuracy(metrics))
    scratch = seeds[seeds.index.get_level_values("variant") == REFERENCE].droplevel("variant")
    seeds = seeds.join(scratch.add_suffix("_scratch"), on=["scenario", "seed"])
    both = seeds["recovered"] & seeds["recovered_scratch"].eq(True)
    gap = seeds["accuracy"] - seeds["accuracy_scratch"]
    cost = seeds["steps"] / seeds["steps_scratch"]
    found = seeds.assign(compared=both, cost=cost.where(both), gap=gap.where(both), gap_of_all=gap).groupby(_CELL)
    return found.agg(
        seeds=("steps", "size"),
        recovered=("recovered", "sum"),
        refused=("refused", "all"),
        compared=("compared", "sum"),
        cost=("cost", "mean"),
        gap=("gap", "mean"),
        gap_of_all=("gap_of_all", "mean"),
    ).reset_index()


def _by_seed(cells: pd.DataFrame) -> pd.DataFrame:
    """Client steps of all requests of a seed, whether each of them reached the target, whether each was refused."""
    marked = cells.assign(recovered=cells["status"] == "done", refused=cells["status"] == "refused")
    return marked.groupby([*_CELL, "seed"]).agg(
        steps=("client_steps", "sum"), recovered=("recovered", "all"), refused=("refused", "all")
    )


def _accuracy(metrics: pd.DataFrame) -> pd.Series:
    """Accuracy on all clients that were forgotten so far, averaged over the requests of a seed."""
    wanted = (metrics["stop"] == "target") & (metrics["metric"] == "accuracy") & (metrics["subset"] == "forgotten")
    return metrics[wanted].groupby([*_CELL, "seed"])["value"].mean().rename("accuracy")
