"""The two questions to the models of one variant after one request: told from retraining, and remembered.

Of each seed of a world the variant's model, the one that it started from and scratch's belong together: a seed in which
one of them diverged is left out of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.forgetting.auc import auc_null_deviation, mann_whitney
from sifu.forgetting.client_attack import ClientAttack, client_attack
from sifu.forgetting.margin import client_margins, lowest_margins
from sifu.forgetting.relearning import relearn_time
from sifu.forgetting.ruli import Separated, separated
from sifu.forgetting.sample import Floats, TooFewModels
from sifu.forgetting.twins import Share, TwinTest, share_forgotten, twin_test
from sifu.forgetting.u_lira import ULira, pair, u_lira
from sifu.forgetting.verdict import CANNOT_TELL, verdict
from sifu.stages.lira_columns import Attack, attack, paired_attack
from sifu.store.margins import MarginFiles, ModelMargins
from sifu.store.oracle_schemas import OTHER_DRAWS, WITH_CLIENT, WITH_TWIN

TOGETHER = -1  # in place of a client: all of them
SCRATCH = "scratch"
_PAIR_DRAWS = 99  # permutations of the attack on pairs: two numbers a model take their time
Rows = list[dict[str, Any]]
Statistic = Callable[[NDArray[np.float32], NDArray[np.int64], list[int]], Floats]  # margins, owners, clients


class Differences(NamedTuple):
    """Margins on each client minus those on its twin, and last the mean over clients, in both worlds."""

    with_client: Floats  # [N, C + 1]; of one column [N]
    with_twin: Floats  # [M, C + 1]

    def column(self, place: int) -> Differences:
        return Differences(self.with_client[:, place], self.with_twin[:, place])


class Retrained(NamedTuple):
    """Attacks that tell a variant's models from scratch's, a column a client, and last all of them."""

    alone: Attack  # of mean margins
    lowest: ULira  # of the lowest tenth of margins
    pair: Attack | None  # with the model before the request; None after a later one


@dataclass(frozen=True)
class TwoQuestions:
    """A variant after a request; `original`: the name of the models that it started from."""

    files: MarginFiles
    points: pd.DataFrame
    variant: str
    original: str
    request: int

    def rows(self) -> Rows:
        """A row a client of the request, and one of all of them together."""
        own, before = (self._differences(name) for name in (self.variant, self.original))
        test, first = twin_test(*own), twin_test(*before)
        retrained, paired = self._told_apart(), self._attack(self.clients)
        twins_lira = attack(*own, self._seeds)
        privacy, efficacy = self._three_worlds()
        rows = []
        for place, client in enumerate([*self.clients, TOGETHER]):
            row: dict[str, Any] = {"client": client, "models": min(test.models), "reached": self._reached}
            row |= {"client_models": test.models[0], "twin_models": test.models[1]}
            row |= _retrain_columns(retrained, place) | twins_lira.of_client("twins_lira", place)
            row |= _paired_columns(paired, place)
            share = share_forgotten(own.column(place), before.column(place), self._seeds)
            row |= _twin_columns(test, first, share, place, there=2 * self._reached >= min(test.models))
            row |= {"ruli_privacy": float(privacy.auc[place]), "ruli_efficacy": float(efficacy.auc[place])}
            row |= {"ruli_null": privacy.null_deviation}
            rows.append(row | _placebo(before.with_twin[:, place]))
        return [*rows[:-1], rows[-1] | self._remaining() | self._relearn()]

    def without_numbers(self) -> dict[str, Any]:
        """The row of all clients together where too few models are left, such as those of a method that diverges."""
        models = min(map(len, self._seeds))
        return {"client": TOGETHER, "models": models, "reached": self._reached, "forgotten": CANNOT_TELL}

    def models(self, name: str, world: str) -> ModelMargins:
        """Models of a variant of a world, of the seeds that all have."""
        names = dict.fromkeys((self.variant, self.original, SCRATCH))
        seeds = [_read(self.files, one, self.request, world).seeds for one in names]
        return _read(self.files, name, self.request, world).only(reduce(np.intersect1d, seeds))

    @property
    def _seeds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        with_client, with_twin = (self.models(self.variant, world).seeds for world in (WITH_CLIENT, WITH_TWIN))
        return with_client, with_twin

    @property
    def _reached(self) -> int:
        """Models that met the target accuracy, of the world in which fewer did."""
        return min(self.models(self.variant, world).reached for world in (WITH_CLIENT, WITH_TWIN))

    @property
    def clients(self) -> list[int]:
        """The clients of the request."""
        return sorted(set(self.points.loc[self.points_of("twin"), "client"]))

    @property
    def remaining(self) -> list[int]:
        """The clients that remain after the request."""
        points = self.points[self.points["owner"] == "client"]
        return sorted(set(points.loc[~points["left_at"].between(1, self.request), "client"]))

    def seeds(self, world: str) -> NDArray[np.int64]:
        """The seeds of a world's models, as margins are stored with them. [N]"""
        return self.models(self.variant, world).seeds % OTHER_DRAWS

    def on_clients_and_twins(self, world: str) -> tuple[Floats, Floats]:
        """Mean margins of a world's models on each client's data, and on its twin's. [N, C] each"""
        own, twin = (self._statistic(self.variant, world, owner)[:, :-1] for owner in ("client", "twin"))
        return own, twin

    def points_of(self, owner: str) -> NDArray[np.bool_]:
        """Which points are of the request's clients, or of their twins. [P]"""
        mine = (self.points["owner"] == owner) & (self.points["left_at"] == self.request)
        return mine.to_numpy()

    def owners(self, owner: str) -> NDArray[np.int64]:
        """Whose each point is, of the points of one kind of owner; -1: another kind's. [P]"""
        return self.points["client"].where(self.points["owner"] == owner, TOGETHER).to_numpy()

    def _statistic(self, name: str, world: str, owner: str = "client", of: Statistic = client_margins) -> Floats:
        """Mean margins on each client's data (or its twin's), and last over all of them. [N, C + 1]"""
        values = of(self.models(name, world).margins, self.owners(owner), self.clients)
        return np.concatenate([values, values.mean(1, keepdims=True)], axis=1)

    def _differences(self, name: str) -> Differences:
        worlds = (WITH_CLIENT, WITH_TWIN)
        return Differences(*(self._statistic(name, one) - self._statistic(name, one, "twin") for one in worlds))

    def _told_apart(self) -> Retrained:
        """Unlearned models against scratch's with other draws; and pairs with the model before, of the same draws."""
        unlearned, oracles = (self._statistic(*one) for one in self._against_scratch)
        lowest, others_lowest = (self._statistic(*one, of=lowest_margins) for one in self._against_scratch)
        by_lowest = u_lira(lowest, others_lowest, *self._seeds)
        return Retrained(attack(unlearned, oracles, self._seeds), by_lowest, self._pairs())

    def _pairs(self) -> Attack | None:
        """The attack on models before and after the first request. Before a later one stands the answer to the one
        before, and what is kept is the original.
        """
        if self.request > 1:
            return None
        before, *after = (self._statistic(name, WITH_CLIENT) for name in (self.original, self.variant, SCRATCH))
        first, second = (pair(before, one) for one in after)
        return paired_attack(first, second, self._seeds[0], _PAIR_DRAWS)  # both have the draws of the same seeds

    @property
    def _against_scratch(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """The models that an attacker tells apart: their names and worlds, which share no draws."""
        return (self.variant, WITH_CLIENT), (SCRATCH, WITH_TWIN)

    def _attack(self, clients: list[int]) -> ClientAttack:
        """Some clients attacked at once, with scratch of the same seeds."""
        margins = [self.models(name, WITH_CLIENT).margins for name in (self.variant, SCRATCH)]
        own, same = (client_margins(one, self.owners("client"), clients) for one in margins)
        return client_attack(own, same, self._seeds[0])

    def _three_worlds(self) -> tuple[Separated, Separated]:
        """RULI's games: a client that was unlearned against one that no model saw, as its twin had its seat.

        Privacy: both under unlearned models. Efficacy: the latter under models before the request.
        """
        unlearned, (own, other) = self._statistic(self.variant, WITH_CLIENT), self._seeds
        never = (self._statistic(name, WITH_TWIN) for name in (self.variant, self.original))
        privacy, efficacy = (separated(unlearned, one, own, other) for one in never)
        return privacy, efficacy

    def _remaining(self) -> dict[str, Any]:
        """The remaining clients, each attacked alone: U-LiRA of all of them, and how many are told apart."""
        remain = self.remaining
        margins = (self.models(*one).margins for one in self._against_scratch)
        first, second = (client_margins(one, self.owners("client"), remain) for one in margins)
        row = attack(first, second, self._seeds, pooled=True).of_all("remaining")
        return row | {"remaining_clients": len(remain), "remaining_told": self._attack(remain).told}

    def _relearn(self) -> dict[str, Any]:
        """Client steps until the forgotten clients are known again, over scratch's; nothing if it was not measured."""
        own, scratch = (self.models(name, WITH_CLIENT).notes for name in (self.variant, SCRATCH))
        known = (own["relearn_steps"].notna() & scratch["relearn_steps"].notna()).to_numpy()
        steps, others = (part["relearn_steps"].to_numpy()[known] for part in (own, scratch))
        met, others_met = (part["relearned"].to_numpy()[known].astype(bool) for part in (own, scratch))
        if not known.any():
            return {}
        counts = {"relearn_seeds": int((met & others_met).sum()), "relearn_left_out": int((~met | ~others_met).sum())}
        try:
            found = relearn_time(steps, others, met, others_met, self._seeds[0][known])
        except TooFewModels:
            return counts
        numbers = {"relearn": found.ratio, "relearn_low": found.low, "relearn_high": found.high}
        return counts | ({} if np.isnan(found.ratio) else numbers | {"relearn_bound": found.bound})


@lru_cache(maxsize=8)  # a cell reads six: of both worlds the models of a variant, the original's and scratch's
def _read(files: MarginFiles, variant: str, request: int, world: str) -> ModelMargins:
    """Scratch and the original are asked for often. Margins of all variants together may not fit into memory."""
    return files.models(variant, request, world)


def _placebo(with_twin: Floats) -> dict[str, float]:
    """Half against half: every other model [N] of the twins' world against the rest, with the null of so few."""
    first, second = with_twin[::2], with_twin[1::2]
    value = float(mann_whitney(first, second))
    return {"placebo_auc": value, "placebo_null": auc_null_deviation(len(first), len(second))}


def _retrain_columns(found: Retrained, place: int) -> dict[str, Any]:
    row = found.alone.of_client("retrain", place) | {"lowest_auc": float(found.lowest.auc[place])}
    return row if found.pair is None else row | found.pair.of_client("pair", place)


def _paired_columns(found: ClientAttack, place: int) -> dict[str, Any]:
    """Of a client; after the last one, of all together."""
    if place == len(found.auc):
        return {"paired_auc": float(found.auc.mean()), "paired_p": found.pooled_p_value}
    numbers = {"paired_auc": found.auc, "paired_p": found.p_value, "paired_adjusted": found.adjusted}
    return {name: float(values[place]) for name, values in numbers.items()}


def _twin_columns(test: TwinTest, before: TwinTest, share: Share, place: int, *, there: bool) -> dict[str, Any]:
    """`there`: whether most of the models met the target; noise alone makes a model forget."""
    value, first, shift = (float(values[place]) for values in (test.auc, before.auc, test.shift))
    known = not np.isnan(share.value)
    numbers = {"share": share.value, "share_low": share.low, "share_high": share.high}
    return (
        {"twins_auc": value, "twins_null": test.null_deviation, "twins_shift": shift, "original_auc": first}
        | {name: number if known else None for name, number in numbers.items()}
        | {"forgotten": verdict(value, test.null_deviation, share, enough=test.enough and there)}
    )
