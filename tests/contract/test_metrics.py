"""Every registered metric, under every check: a new metric is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import torch

from sifu.catalog.lookup import resolve
from sifu.catalog.metrics import METRICS
from sifu.core.types import Clients
from sifu.metrics.metric import SUBSETS, Metric, Models
from tests.contract.world import World, masks


@cache
def world() -> World:
    return World.make()


@cache
def models() -> Models:
    """The trained models after two requests, with other models as those of scratch."""
    forget, later, *_ = masks(7, 3)
    weights = world().lineage.current
    own, other = (_seen(start, later, forget | later) for start in (weights, weights.flip(1)))
    return replace(own, scratch=other, scratch_same_stop=other)


def _seen(weights: torch.Tensor, forget: torch.Tensor, forgotten: torch.Tensor) -> Models:
    engine = world().lineage.engine
    correct = engine.evaluator.correct(weights, torch.arange(len(weights)))
    return Models(engine, weights, correct, forget, forgotten, torch.tensor([0.5, 0.6, 0.7], dtype=torch.float64))


def one_seed(seen: Models, s: int) -> Models:
    part, clients = slice(s, s + 1), seen.engine.clients
    engine = replace(seen.engine, clients=Clients(clients.images[part], clients.labels[part], clients.size[part]))
    names = ("weights", "correct", "forget", "forgotten", "test_accuracy")
    rows = {name: getattr(seen, name)[part] for name in names}
    others = {
        name: one_seed(other, s)
        for name in ("scratch", "scratch_same_stop")
        if (other := getattr(seen, name)) is not None
    }
    return replace(seen, engine=engine, **rows, **others)


def check_shape(metric: Metric) -> None:
    values = metric(models())
    assert values, "give back at least one subset"
    assert set(values) <= set(SUBSETS), f"subsets are {', '.join(SUBSETS)}"
    for value in values.values():
        assert value.shape == (3,), "give back one number for each seed, [S]"
        assert value.isfinite().all(), "numbers must be finite where every subset has examples"


def check_seed_by_seed(metric: Metric) -> None:
    together = metric(models())
    for s in range(3):
        for subset, value in metric(one_seed(models(), s)).items():
            assert value.tolist() == pytest.approx([together[subset][s].item()]), (
                f"seed {s} alone is not seed {s} among others: never mix values along the first axis, S"
            )


def check_without_scratch_or_test_set(metric: Metric) -> None:
    bare = replace(models(), scratch=None, scratch_same_stop=None, test_accuracy=None)
    assert "test" not in metric(bare), "leave out the subset `test` where test_accuracy is None"


def check_words(metric: Metric) -> None:
    assert (metric.__doc__ or "").strip(), "say in the docstring's first line what it is: docs/results.md shows it"


CHECKS = (check_shape, check_seed_by_seed, check_without_scratch_or_test_set, check_words)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", list(METRICS))
def test_contract(name: str, check: Callable[[Metric], None]) -> None:
    check(resolve(METRICS[name]))


@pytest.mark.parametrize("name", ["gap_to_scratch", "gap_to_scratch_same_stop"])
def test_models_like_scratchs_have_no_gap(name: str) -> None:
    same = replace(models(), scratch=models(), scratch_same_stop=models())
    assert all(value.eq(0).all() for value in resolve(METRICS[name])(same).values())


def test_by_hand() -> None:
    """Clients of 8, 5, 6, 8, 7, 4 and 8 examples; 1 left first, 0 and 3 now."""
    correct = torch.tensor([[2, 5, 3, 4, 7, 1, 8]]).expand(3, -1)
    seen = replace(models(), correct=correct)
    values = resolve(METRICS["accuracy"])(seen)
    assert values["retain"].tolist() == pytest.approx([19 / 25] * 3)  # 3 + 7 + 1 + 8 of 6 + 7 + 4 + 8
    assert values["forget"].tolist() == pytest.approx([6 / 16] * 3)
    assert values["forgotten"].tolist() == pytest.approx([11 / 21] * 3)
    own = torch.tensor([3 / 6, 7 / 7, 1 / 4, 8 / 8])
    spread = resolve(METRICS["client_std"])(seen)["retain"]
    assert spread.tolist() == pytest.approx([own.std(correction=0).item()] * 3)


@pytest.mark.parametrize(
    ("metric", "check", "advice"),
    [
        (lambda seen: {"retain": seen.correct.sum()}, check_shape, "one number for each seed"),
        (lambda seen: {"everybody": seen.correct.sum(1)}, check_shape, "subsets are retain"),
        (lambda seen: {"retain": seen.correct.sum(1) * seen.correct.sum()}, check_seed_by_seed, "never mix values"),
        (lambda seen: {"test": seen.correct.sum(1)}, check_without_scratch_or_test_set, "leave out the subset"),
        (lambda seen: {}, check_words, "docs/results.md shows it"),
    ],
)
def test_a_broken_metric_is_caught(metric: Metric, check: Callable[[Metric], None], advice: str) -> None:
    with pytest.raises(AssertionError, match=advice):
        check(metric)
