"""The columns of the table `forgetting` in groups, by calls of the functions that they name, on made margins.

A group gives each of its columns a value for every row, or a list of one value a row: the clients of the request, then
all of them together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from sifu.forgetting.auc import auc_null_deviation, low_rate, mann_whitney
from sifu.forgetting.client_attack import client_attack
from sifu.forgetting.relearning import relearn_time
from sifu.forgetting.ruli import separated
from sifu.forgetting.twins import share_forgotten, twin_test
from sifu.forgetting.u_lira import ULira, u_lira, u_lira_test
from sifu.forgetting.verdict import verdict
from sifu.store.oracle_schemas import OTHER_DRAWS
from tests.unit.stages.made_margins import LEAVE, REMAIN, WORLDS, kept, lowest_tenth, means, numbers, with_all

Wanted = dict[str, Any]
Scores = tuple[np.ndarray, np.ndarray]  # of the models of both worlds
ORACLE = "scratch"


def seeds(request: int) -> Scores:
    """Of the models of both worlds; those of the twins' world are other draws."""
    return kept(request, "client"), kept(request, "twin") + OTHER_DRAWS


def of_clients(variant: str, request: int, world: str) -> np.ndarray:
    """Mean margins on the clients of the request, then on all of them. [N, C + 1]"""
    return with_all(means(variant, request, world, "client", LEAVE[request]))


def differences(variant: str, request: int) -> Scores:
    """Margins on the clients less those on their twins, in both worlds."""
    clients = LEAVE[request]
    own, twins = ([means(variant, request, w, owner, clients) for w in WORLDS] for owner in ("client", "twin"))
    first, second = (with_all(one - other) for one, other in zip(own, twins, strict=True))
    return first, second


def together(request: int, value: object) -> list[object]:
    """Of all clients alone."""
    return [None] * len(LEAVE[request]) + [value]


def rates(name: str, rows: Iterable[Scores | None]) -> Wanted:
    """Hits and alarms of an attack, row by row; empty in rows without scores."""
    found = defaultdict(list)
    for scores in rows:
        for ending, rate in (("1", 0.01), ("01", 0.001)):
            one = None if scores is None else low_rate(*scores, rate)
            found[f"{name}_hits_{ending}"].append(None if one is None else one.hits)
            found[f"{name}_alarms_{ending}"].append(None if one is None else one.alarms)
    return dict(found)


def rates_of_rows(name: str, found: ULira) -> Wanted:
    return rates(name, zip(found.unlearned.T, found.oracle.T, strict=True))


def counts(request: int) -> Wanted:
    """Whose row it is, and of how many models."""
    own, other = (len(kept(request, world)) for world in WORLDS)
    reached = min((numbers("status", "method", request, world) == "done").sum() for world in WORLDS)
    models = {"models": min(own, other), "client_models": own, "twin_models": other, "reached": reached}
    return {"scenario": "made", "variant": "method", "request": request} | models


def retrain(request: int) -> Wanted:
    """The method's models against retrained ones of the other world."""
    worlds = of_clients("method", request, "client"), of_clients(ORACLE, request, "twin")
    found = u_lira(*worlds, *seeds(request))
    values = {"retrain_auc": found.auc, "retrain_null": found.null_deviation}
    p_value = u_lira_test(*worlds, *seeds(request)).p_value
    return values | {"retrain_p": p_value} | rates_of_rows("retrain", found)


def lowest(request: int) -> Wanted:
    """The same by the lowest tenth of a client's margins."""
    worlds = [
        with_all(means(variant, request, world, "client", LEAVE[request], of=lowest_tenth))
        for variant, world in (("method", "client"), (ORACLE, "twin"))
    ]
    return {"lowest_auc": u_lira(*worlds, *seeds(request)).auc}


def pair(request: int) -> Wanted:
    """Models before and after against the same with retraining; of the first request alone."""
    if request > 1:
        return {"pair_auc": None, "pair_p": None, "pair_null": None} | rates("pair", [None] * (len(LEAVE[request]) + 1))
    before, own = of_clients("original", request, "client"), kept(request, "client")
    after = (of_clients(variant, request, "client") for variant in ("method", ORACLE))
    pairs = [np.stack([before, one], axis=-1) for one in after]
    found, p_value = u_lira(*pairs, own, own), u_lira_test(*pairs, own, own, 99, paired=True).p_value
    return {"pair_auc": found.auc, "pair_p": p_value, "pair_null": found.null_deviation} | rates_of_rows("pair", found)


def remaining(request: int) -> Wanted:
    """The clients that remain, all of them in one row."""
    worlds = [
        means(variant, request, world, "client", REMAIN[request])
        for variant, world in (("method", "client"), (ORACLE, "twin"))
    ]
    found = u_lira(*worlds, *seeds(request))
    same_world = means(ORACLE, request, "client", "client", REMAIN[request])
    values = {
        "auc": found.auc.mean(),
        "null": found.null_deviation,
        "p": u_lira_test(*worlds, *seeds(request), pooled=True).p_value,
        "clients": len(REMAIN[request]),
        "told": client_attack(worlds[0], same_world, kept(request, "client")).told,
    }
    row = {f"remaining_{name}": together(request, value) for name, value in values.items()}
    return row | rates("remaining", [*(None for _ in LEAVE[request]), (found.unlearned, found.oracle)])


def paired(request: int) -> Wanted:
    """The method's models against retrained ones of the same world, seed by seed."""
    one, other = (of_clients(variant, request, "client")[:, :-1] for variant in ("method", ORACLE))
    found = client_attack(one, other, kept(request, "client"))
    return {
        "paired_auc": [*found.auc, found.auc.mean()],
        "paired_p": [*found.p_value, found.pooled_p_value],
        "paired_adjusted": [*found.adjusted, None],
    }


def twins(request: int) -> Wanted:
    """The differences between clients and twins in both worlds: the method's, and those before any request."""
    now, first = differences("method", request), differences("original", request)
    test, halves = twin_test(*now), (first[1][::2], first[1][1::2])
    return {
        "twins_auc": test.auc,
        "twins_null": test.null_deviation,
        "twins_shift": test.shift,
        "original_auc": twin_test(*first).auc,
        "placebo_auc": [mann_whitney(*half) for half in zip(*(half.T for half in halves), strict=True)],
        "placebo_null": auc_null_deviation(*(len(half) for half in halves)),
    }


def twins_lira(request: int) -> Wanted:
    """The same differences by U-LiRA."""
    now = differences("method", request)
    found, p_value = u_lira(*now, *seeds(request)), u_lira_test(*now, *seeds(request)).p_value
    values = {"twins_lira_auc": found.auc, "twins_lira_null": found.null_deviation, "twins_lira_p": p_value}
    return values | rates_of_rows("twins_lira", found)


def share(request: int) -> Wanted:
    """The share that was forgotten, and the answer that follows."""
    now, first = differences("method", request), differences("original", request)
    columns = [[tuple(world[:, place] for world in pair) for pair in (now, first)] for place in range(now[0].shape[1])]
    found, test = [share_forgotten(*column, seeds(request)) for column in columns], twin_test(*now)
    return {
        "share": [one.value for one in found],
        "share_low": [one.low for one in found],
        "share_high": [one.high for one in found],
        "forgotten": [
            verdict(float(auc), test.null_deviation, one, enough=False)
            for auc, one in zip(test.auc, found, strict=True)
        ],
    }


def ruli(request: int) -> Wanted:
    """The method's models that had the clients against those, and against original ones, that never had."""
    had = of_clients("method", request, "client")
    privacy, efficacy = (
        separated(had, of_clients(variant, request, "twin"), *seeds(request)) for variant in ("method", "original")
    )
    return {"ruli_privacy": privacy.auc, "ruli_efficacy": efficacy.auc, "ruli_null": privacy.null_deviation}


def relearn(request: int) -> Wanted:
    """How long the clients take to be learnt again, together."""
    steps, met = (
        [numbers(part, variant, request, "client") for variant in ("method", ORACLE)]
        for part in ("relearn_steps", "relearned")
    )
    found = relearn_time(*steps, *met, kept(request, "client"))
    columns = {"relearn": found.ratio} | {
        f"relearn_{name}": getattr(found, name) for name in ("low", "high", "seeds", "left_out", "bound")
    }
    return {name: together(request, value) for name, value in columns.items()}


GROUPS: dict[str, Callable[[int], Wanted]] = {
    group.__name__: cache(group)
    for group in (counts, retrain, lowest, pair, remaining, paired, twins, twins_lira, share, ruli, relearn)
}
