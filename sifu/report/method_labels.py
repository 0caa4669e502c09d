"""What methods are called for people: as the leaderboard calls the variant with their defaults."""

from __future__ import annotations

from functools import cache

from sifu.config.shipped import SUITE
from sifu.plan.load import read_yaml

_OTHERS = {"dp_fedavg": "DP-FedAvg", "sharded": "Sharded", "fats": "FATS"}  # no variant has their defaults


def method_label(name: str) -> str:
    """The label of a method; one of another package has its name alone."""
    return _labels().get(name, name)


@cache
def _labels() -> dict[str, str]:
    variants = read_yaml(SUITE / "config" / "variants.yaml")
    return _OTHERS | {name: one["label"] for name, one in variants.items() if one["method"] == name}
