"""What every metric must do. A check that fails raises a SifuError, whose sentence tells the author what to change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from sifu.contract.require import require
from sifu.contract.world import World, masks
from sifu.core.types import Clients
from sifu.metrics.metric import SUBSETS, Metric, Models, PerExample

_SEEDS = 3


@cache
def world() -> World:
    return World.make()


@cache
def models() -> Models:
    """The trained models after two requests, with other models as those of scratch."""
    forget, later, *_ = masks(7, _SEEDS)
    weights = world().lineage.current
    own, other = (_seen(start, later, forget | later) for start in (weights, weights.flip(1)))
    return replace(own, scratch=other, scratch_same_stop=other)


def _seen(weights: Tensor, forget: Tensor, forgotten: Tensor) -> Models:
    engine = world().lineage.engine
    correct = engine.evaluator.correct(weights, torch.arange(len(weights)))
    return Models(engine, weights, correct, forget, forgotten, torch.tensor([0.5, 0.6, 0.7], dtype=torch.float64))


def one_seed(seen: Models, s: int) -> Models:
    """The same models of one seed alone."""
    part, clients = slice(s, s + 1), seen.engine.clients
    engine = replace(seen.engine, clients=Clients(clients.images[part], clients.labels[part], clients.size[part]))
    names = ("weights", "correct", "forget", "forgotten", "test_accuracy")
    changes: dict[str, Any] = {name: getattr(seen, name)[part] for name in names}
    for name in ("scratch", "scratch_same_stop"):
        if getattr(seen, name) is not None:
            changes[name] = one_seed(getattr(seen, name), s)
    return replace(seen, engine=engine, **changes)


def _numbers(metric: Metric, seen: Models) -> dict[str, Tensor]:
    """A number for each seed and subset; of a value per example the mean."""
    found = metric(seen)
    return {
        subset: seen.mean(subset, value) if isinstance(value, PerExample) else value for subset, value in found.items()
    }


def check_shape(metric: Metric) -> None:
    """One finite number for each seed, of known subsets."""
    found = metric(models())
    require(bool(found), "give back at least one subset")
    require(set(found) <= set(SUBSETS), f"subsets are {', '.join(SUBSETS)}")
    for value in _numbers(metric, models()).values():
        require(value.shape == (_SEEDS,), "give back one number for each seed, [S]")
        require(value.isfinite().all(), "numbers must be finite where every subset has examples")


def check_seed_by_seed(metric: Metric) -> None:
    """A seed alone is the seed among others."""
    together = _numbers(metric, models())
    for s in range(_SEEDS):
        for subset, value in _numbers(metric, one_seed(models(), s)).items():
            require(
                torch.allclose(value.double(), together[subset][s : s + 1].double(), rtol=1e-6),
                f"seed {s} alone is not seed {s} among others: never mix values along the first axis, S",
            )


def check_without_scratch_or_test_set(metric: Metric) -> None:
    """What does not exist is left out."""
    bare = replace(models(), scratch=None, scratch_same_stop=None, test_accuracy=None)
    require("test" not in metric(bare), "leave out the subset `test` where test_accuracy is None")


def check_words(metric: Metric) -> None:
    """It says what it is."""
    said = (metric.__doc__ or "").strip()
    require(bool(said), "say in the docstring's first line what it is: docs/results.md shows it")


CHECKS: tuple[Callable[[Metric], None], ...] = (
    check_shape,
    check_seed_by_seed,
    check_without_scratch_or_test_set,
    check_words,
)
