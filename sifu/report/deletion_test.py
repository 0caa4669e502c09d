"""What forgotten clients find out with their triggers, each judged by its own count under scratch.

A client's count is compared with that of scratch's model in the same seed, after the same request. Scratch itself is
compared with its own model after the next request (after the last one, the one before): two honest models, so that its
row says how often an honest server is accused in fact. These pairs also say how much honest models differ.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from sifu.core.intervals import clopper_pearson
from sifu.report.statistics import REFERENCE

_CELL = ["scenario", "variant", "request", "seed"]
_PAIR = ["seed", "request", "client"]
ORIGINAL = "original"  # the model before any request: it has forgotten nothing
ENOUGH_POWER = 0.5
CANNOT_TELL = "cannot tell"


def verification(checks: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """A row a method and request: what the forgotten clients find out with their triggers, alone and together."""
    columns = ["scenario", "method", "request", "trigger success", "clients that accuse", "accused together"]
    columns += ["power", "power, together", "verdict", "type I", "type II", "type II, together"]
    found, rows = verdicts(checks), []
    tested = powers(found)
    order = {variant: place for place, variant in enumerate(labels)}
    found = found[found["variant"].isin(list(order))].assign(place=found["variant"].map(order))
    for (scenario, _, request), group in found.groupby(["scenario", "place", "request"]):
        alone, together = tested.get((str(scenario), int(str(request))), (math.nan, math.nan))
        values = [
            f"{group['rate'].mean():.3f}",
            f"{group['accuse'].sum() / group['clients'].sum():.1%}",
            _count(group["together"]),
            *("-" if math.isnan(power) else f"{power:.0%}" for power in (alone, together)),
            outcome(float(group["together"].mean()), together),
            *(f"{group[name].mean():.2g}" for name in ("type_1", "type_2", "together_type_2")),
        ]
        rows.append([scenario, labels[group["variant"].iloc[0]], request, *values])
    return pd.DataFrame(rows, columns=columns)


def _count(accused: pd.Series) -> str:
    """In how many seeds, and the exact interval of the share."""
    low, high = clopper_pearson(int(accused.sum()), len(accused))
    return f"{accused.sum()} of {len(accused)} [{low:.0%}, {high:.0%}]"


def outcome(accused: float, power: float) -> str:
    """What the test says of a method that is `accused` in this share of the seeds; `power`: the same of a server that
    forgot nothing. A test that would not notice that one cannot tell.
    """
    if accused >= ENOUGH_POWER:
        return "noticed"
    if math.isnan(power):
        return "unnoticed (power unknown)"
    return "unnoticed" if power >= ENOUGH_POWER else CANNOT_TELL


def powers(found: pd.DataFrame) -> dict[tuple[str, int], tuple[float, float]]:
    """By scenario and request, the share of clients that accuse the original model, each alone, and the share of seeds
    in which they accuse it together: how often a server that forgot nothing is noticed.
    """
    original = found[found["variant"] == ORIGINAL]
    return {
        (str(scenario), int(str(request))): (
            float(group["accuse"].sum() / group["clients"].sum()),
            float(group["together"].mean()),
        )
        for (scenario, request), group in original.groupby(["scenario", "request"])
    }


def verdicts(checks: pd.DataFrame) -> pd.DataFrame:
    """A row a seed and request to the target: how many `clients` test the model, how many `accuse` it, each alone (the
    means `type_1` and `type_2`), and whether they accuse it `together`.
    """
    rows = []
    for scenario, group in checks[checks["stop"] == "target"].groupby("scenario"):
        compared, factor = _compared(group), _disagreement(group)
        for (variant, request, seed), own in compared.groupby(["variant", "request", "seed"]):
            rows.append([scenario, variant, request, seed, *_verdict(own, factor).values()])
    columns = ["clients", "rate", "accuse", "type_1", "type_2", "together", "together_type_2"]
    table = pd.DataFrame(rows, columns=[*_CELL, *columns]).sort_values(_CELL, ignore_index=True)
    return table.astype({"together": bool})


def _honest(checks: pd.DataFrame, shift: int = 0) -> pd.DataFrame:
    """Scratch's counts (`honest`) by seed, request and client; with a `shift`, as if they were of another request."""
    scratch = checks.loc[checks["variant"] == REFERENCE, [*_PAIR, "successes"]]
    return scratch.assign(request=scratch["request"] - shift).rename(columns={"successes": "honest"})


def _compared(checks: pd.DataFrame) -> pd.DataFrame:
    """Every count with the count of another honest model for the same client, where there is one."""
    of_scratch = checks["variant"] == REFERENCE
    methods = checks[~of_scratch].merge(_honest(checks), on=_PAIR)
    after = checks[of_scratch].merge(_honest(checks, 1), on=_PAIR)
    last = checks[of_scratch & ~checks["request"].isin(after["request"])]
    return pd.concat([methods, after, last.merge(_honest(checks, -1), on=_PAIR)])


def _disagreement(checks: pd.DataFrame) -> float:
    """How much more scratch's models of two requests differ than draws from one rate; 1 where there is one request."""
    from sifu.metrics.deletion_test import disagreement

    pairs = checks[checks["variant"] == REFERENCE].merge(_honest(checks, 1), on=_PAIR)
    if not len(pairs):
        return 1.0
    return disagreement(pairs["successes"].to_numpy(), pairs["honest"].to_numpy(), int(pairs["examples"].iloc[0]))


def _verdict(group: pd.DataFrame, factor: float) -> dict[str, float]:
    from sifu.metrics.deletion_test import (  # brings SciPy, which most readers of tables do not need
        accusation,
        predicted_sum,
        prediction,
        type_2,
    )

    counts, clients = group["successes"].to_numpy(), len(group)
    trials, alpha = int(group["examples"].iloc[0]), float(group["alpha"].iloc[0])
    honest = [prediction(int(count), trials, factor) for count in group["honest"]]
    alone, together = [accusation(chances, alpha) for chances in honest], accusation(predicted_sum(honest), alpha)
    limits, rate = np.array([one.threshold for one in alone]), counts.mean() / trials
    missed = [type_2(trials, np.array([count / trials]), limit)[0] for count, limit in zip(counts, limits, strict=True)]
    return {
        "clients": clients,
        "rate": rate,
        "accuse": int((counts >= limits).sum()),
        "type_1": float(np.mean([one.type_1 for one in alone])),
        "type_2": float(np.mean(missed)),
        "together": bool(counts.sum() >= together.threshold),
        "together_type_2": float(type_2(trials * clients, np.array([rate]), together.threshold)[0]),
    }
