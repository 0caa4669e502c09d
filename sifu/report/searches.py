"""The table of searches of methods' settings: every value that was tried, and why one of them was chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from sifu.config.search import FORGETS


def searches(trials: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Every value that was tried: how many seeds reached the target, in how many rounds, how accurate they ended.

    `chosen` says what decided: client steps, forgetting where a cheaper value remembers, or accuracy where no value
    reached the target; and whether the value is the smallest or largest one tried.
    """
    rows = []
    of_variant = dict(iter(trials.groupby(["scenario", "variant"])))
    for (scenario, variant, _), group in trials.groupby(["scenario", "variant", "place"]):
        rows.append(
            {
                "scenario": scenario,
                "method": labels.get(str(variant), variant),
                "setting": group["setting"].iloc[0],
                "value": group["value"].iloc[0],
                "target met": f"{(group['status'] == 'done').sum()} of {len(group)}",
                "rounds": mean_cost(group, "rounds"),
                "client steps": mean_cost(group, "client_steps"),
                "accuracy": f"{group['accuracy'].mean():.3f}",
                "remembers": _signed(_remembers(group)),
                "chosen": _reason(of_variant[scenario, variant]) if group["chosen"].all() else "",
            }
        )
    return pd.DataFrame(rows, columns=[*_METHOD_TRIAL])


_METHOD_TRIAL = (
    *("scenario", "method", "setting", "value", "target met", "rounds", "client steps"),
    *("accuracy", "remembers", "chosen"),
)


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.3f}"


def _remembers(trials: pd.DataFrame) -> float:
    """How much more accurate than a retraining on the data of forgotten clients, a mean over seeds."""
    return float((trials["forget_accuracy"] - trials["retrained_accuracy"]).mean())


def _reason(trials: pd.DataFrame) -> str:
    """Why the value that was chosen is the best of a variant's trials on a scenario."""
    chosen = trials[trials["chosen"]]
    edge = ", at the edge" if _at_edge(trials["value"].unique(), chosen["value"].iloc[0]) else ""
    if not (chosen["status"] == "done").any():
        return f"by accuracy{edge}"
    if _remembers(chosen) > FORGETS:
        return f"nearest to forgetting{edge}"
    alike = trials.groupby("place").filter(lambda one: (one["status"] == "done").sum() >= _reached(chosen))
    cheaper = alike.groupby("place")["client_steps"].mean().min() < chosen["client_steps"].mean()
    return f"by {'forgetting' if cheaper else 'client steps'}{edge}"


def _reached(trials: pd.DataFrame) -> int:
    return int((trials["status"] == "done").sum())


def _at_edge(values: Iterable[str], chosen: str) -> bool:
    """Whether one of the settings has its smallest or largest value, where three or more were tried."""
    tried = zip(*(value.split(", ") for value in values), strict=True)
    return any(
        len(set(column)) > 2 and float(own) in (min(map(float, column)), max(map(float, column)))
        for own, column in zip(chosen.split(", "), tried, strict=True)
        if all(_is_number(value) for value in column)
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def mean_cost(trials: pd.DataFrame, column: str) -> str:
    """The mean of what trials took; a lower bound where one of them was stopped before its target."""
    met = (trials["status"] == "done").all()
    return ("" if met else ">= ") + f"{trials[column].mean():.0f}"
