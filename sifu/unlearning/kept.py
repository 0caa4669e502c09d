"""What a server may have kept of the past; a method declares what it reads."""

from __future__ import annotations

from enum import StrEnum

from sifu.certificate.rules import Rules


class Kept(StrEnum):
    START = "initial model"  # theta^0, which the training began with
    MODELS = "models"  # the global model of any round
    COHORTS = "cohorts"  # who took part in which round
    SCALARS = "scalars"  # each client's distance to the average, round by round
    NORMS = "norms"  # the length of each client's update, in all and layer by layer
    FIRST_ROUND = "first round"  # the updates of the training's first round
    UPDATES = "updates"  # every client's update
    LAST_UPDATES = "last updates"  # of each client the last update that it sent, and the mean of the others then
    PRODUCTS = "products"  # the inner products of all updates of a round, spare clients' included


def kept_for(rules: Rules) -> frozenset[Kept]:
    """What the sensitivity by these rules is counted from."""
    if rules.seats == "refilled":
        return frozenset({Kept.PRODUCTS})
    return frozenset({Kept.SCALARS, Kept.UPDATES} if rules.sets == "exact" else {Kept.SCALARS})
