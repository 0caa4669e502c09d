"""The columns of an attack by U-LiRA: AUC with its null and p-value, and counts of hits at 1% and 0.1% false alarms."""

from __future__ import annotations

from typing import Any, NamedTuple

from sifu.forgetting.sample import Floats, Ints
from sifu.forgetting.u_lira import ULira, u_lira, u_lira_test

_RATES = ("1", "01")  # of LOW_RATES: 1% and 0.1%, as the columns name them
_DRAWS = 199  # permutations


class Attack(NamedTuple):
    """An attack with the p-values of its AUC: a column a client, or one of all clients together."""

    found: ULira
    p_value: Floats  # [C], or [] of the mean over clients

    def of_client(self, name: str, place: int) -> dict[str, Any]:
        """The columns `name`_auc, `name`_null, ... of one client."""
        numbers = float(self.found.auc[place]), float(self.p_value[place])
        return self._row(name, *numbers, place)

    def of_all(self, name: str) -> dict[str, Any]:
        """The same of all clients at once: their mean AUC, and hits of all their scores under one threshold."""
        return self._row(name, float(self.found.auc.mean()), float(self.p_value), None)

    def _row(self, name: str, auc: float, p_value: float, place: int | None) -> dict[str, Any]:
        row: dict[str, Any] = {f"{name}_auc": auc, f"{name}_null": self.found.null_deviation, f"{name}_p": p_value}
        for rate, counted in zip(_RATES, self.found.low_rates(place).values(), strict=True):
            row |= {f"{name}_hits_{rate}": counted.hits, f"{name}_alarms_{rate}": counted.alarms}
        return row


def attack(first: Floats, second: Floats, seeds: tuple[Ints, Ints], *, pooled: bool = False) -> Attack:
    """The attack on statistics [N, C] and [M, C] of models with these seeds; `pooled`: one p-value of all clients."""
    return Attack(u_lira(first, second, *seeds), u_lira_test(first, second, *seeds, _DRAWS, pooled=pooled).p_value)


def paired_attack(first: Floats, second: Floats, seeds: Ints, draws: int) -> Attack:
    """The same where models of a seed belong together: worlds are permuted within seeds."""
    test = u_lira_test(first, second, seeds, seeds, draws, paired=True)
    return Attack(u_lira(first, second, seeds, seeds), test.p_value)
