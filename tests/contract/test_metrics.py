"""Every registered metric, under every check: a new metric is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sifu.catalog.lookup import resolve
from sifu.catalog.metrics import METRICS
from sifu.contract.metric_checks import (
    CHECKS,
    check_seed_by_seed,
    check_shape,
    check_without_scratch_or_test_set,
    check_words,
    models,
)
from sifu.errors import SifuError
from sifu.metrics.metric import Metric


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
    with pytest.raises(SifuError, match=advice):
        check(metric)
