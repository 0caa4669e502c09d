"""A sample of models: how many a metric needs, and whether their margins are numbers.

A metric below its least number of models is refused. Below the advised number it is shown next to its null: the same
metric between models that do not differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sifu.errors import SifuError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class TooFewModels(SifuError):
    """A metric over many models has too few of them to say anything."""


class Need(NamedTuple):
    """Models a world: refused below `least`; from `advised` on the metric's own error is small."""

    name: str
    least: int
    advised: int


NEEDS: dict[str, Need] = {
    "auc": Need("AUC", 5, 100),
    "twins": Need("the twin test", 5, 100),
    "u_lira": Need("U-LiRA", 10, 100),
    "klom": Need("KLOM", 5, 200),
    "gaussian_kl": Need("the Gaussian KL", 5, 100),
    "jensen_shannon": Need("the Jensen-Shannon distance", 5, 100),
    "accuracy": Need("accuracy", 5, 100),
    "disagreement": Need("disagreement", 5, 100),
    "worst_decile": Need("the worst decile", 5, 100),
    "ruli": Need("RULI", 10, 100),
    "neurips_score": Need("the NeurIPS 2023 score", 20, 512),
    "relearning": Need("relearn time", 3, 10),
    "permutation": Need("a permutation test", 5, 40),
    "power": Need("a power curve", 10, 200),
}


def require_models(metric: str, *counts: int) -> None:
    """Refuse a metric whose smallest world has too few models."""
    need = NEEDS[metric]
    if min(counts) < need.least:
        raise TooFewModels(
            f"{need.name} needs at least {need.least} models a world, and there are {min(counts)}; train more seeds"
        )


def enough_models(metric: str, *counts: int) -> bool:
    """Whether every world has the advised number of models."""
    return min(counts) >= NEEDS[metric].advised


def samples(metric: str, *worlds: ArrayLike) -> list[Floats]:
    """Worlds [N, ...] of one metric as float64, refused where they are too few, not alike in shape, or not finite."""
    arrays = [np.asarray(world, np.float64) for world in worlds]
    if any(array.ndim == 0 or array.shape[1:] != arrays[0].shape[1:] for array in arrays):
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise SifuError(f"worlds of {NEEDS[metric].name} must have a row a model and the same columns, not {shapes}")
    require_models(metric, *(len(array) for array in arrays))
    for array in arrays:
        broken = int((~np.isfinite(array)).reshape(len(array), -1).any(1).sum())
        if broken:
            raise SifuError(f"{broken} of {len(array)} models have margins that are not finite; leave their seeds out")
    return arrays
