"""What verify makes of models that are no models."""

from __future__ import annotations

import pytest
import torch

from sifu.core.keys import Keys
from sifu.stages.verify import _correct
from tests.conftest import tiny_clients, tiny_engine


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_a_model_of_infinite_weights_knows_nothing(value: float) -> None:
    """All of its answers are the first class, which some clients have."""
    engine, rows = tiny_engine("logistic", tiny_clients("logistic")), torch.arange(2)
    weights = engine.model.init(Keys.of(range(2)))
    lost = weights.clone()
    lost[1] = value
    found, sound = (_correct(engine, engine.evaluator, part, rows) for part in (lost, weights))
    assert engine.evaluator.correct(lost, rows)[1].any()
    assert not found[1].any()
    assert torch.equal(found[0], sound[0])
