"""What forgotten clients find out with their triggers, judged by how honest models answer other clients."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sifu.report.statistics import REFERENCE

_CELL = ["scenario", "variant", "request", "seed"]


def verification(checks: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """A row a method and request: what the forgotten clients find out with their triggers, alone and together."""
    columns = ["scenario", "method", "request", "trigger success", "clients that accuse", "accused together"]
    columns += ["type I", "type II", "type II, together"]
    found, rows = verdicts(checks), []
    order = {variant: place for place, variant in enumerate(labels)}
    found = found[found["variant"].isin(list(order))].assign(place=found["variant"].map(order))
    for (scenario, _, request), group in found.groupby(["scenario", "place", "request"]):
        values = [
            f"{group['rate'].mean():.3f}",
            f"{group['accuse'].sum() / group['clients'].sum():.1%}",
            f"{group['together'].sum()} of {len(group)}",
            *(f"{group[name].mean():.2g}" for name in ("type_1", "type_2", "together_type_2")),
        ]
        rows.append([scenario, labels[group["variant"].iloc[0]], request, *values])
    return pd.DataFrame(rows, columns=columns)


def verdicts(checks: pd.DataFrame) -> pd.DataFrame:
    """A row a seed and request to the target: how many `clients` test the model, how many `accuse` it, each alone
    (`type_1`, and the mean `type_2`), and whether they accuse it `together`.
    """
    rows = []
    for (scenario, request), group in checks[checks["stop"] == "target"].groupby(["scenario", "request"]):
        scratch = group[group["variant"] == REFERENCE]
        for seed, answers in group.groupby("seed"):
            others = _others(scratch, int(str(seed)))
            for variant, own in answers.groupby("variant"):
                rows.append([scenario, variant, request, seed, *_verdict(own, others).values()])
    columns = ["clients", "rate", "accuse", "type_1", "type_2", "together", "together_type_2"]
    return pd.DataFrame(rows, columns=[*_CELL, *columns]).sort_values(_CELL, ignore_index=True)


def _others(scratch: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Scratch's answers in all other seeds, so that no model is judged by its own answers; with a single seed, those
    of that seed.
    """
    others = scratch[scratch["seed"] != seed]
    return others if len(others) else scratch


def _verdict(group: pd.DataFrame, scratch: pd.DataFrame) -> dict[str, float]:
    from sifu.metrics.deletion_test import (  # brings SciPy, which most readers of tables do not need
        HonestCounts,
        accusation,
        type_2,
    )

    counts, clients = group["successes"].to_numpy(), len(group)
    trials, alpha = int(group["examples"].iloc[0]), float(group["alpha"].iloc[0])
    honest = HonestCounts.of(scratch["successes"].to_numpy(), trials)
    alone, together = (accusation(honest, trials, number, alpha) for number in (1, clients))
    total, rate = trials * clients, counts.mean() / trials
    return {
        "clients": clients,
        "rate": rate,
        "accuse": int((counts >= alone.threshold).sum()),
        "type_1": alone.type_1,
        "type_2": float(type_2(trials, counts / trials, alone.threshold).mean()),
        "together": bool(counts.sum() >= together.threshold),
        "together_type_2": float(type_2(total, np.array([rate]), together.threshold)[0]),
    }
