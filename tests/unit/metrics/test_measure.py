"""What is measured of models that are no models, and on a test set."""

from __future__ import annotations

import pytest
import torch

from sifu.core.keys import Keys
from sifu.data.test_set import TEST_CHUNK, cut_test_set
from sifu.metrics.measure import correct_answers
from tests.conftest import tiny_clients, tiny_engine


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_a_model_of_infinite_weights_knows_nothing(value: float) -> None:
    """All of its answers are the first class, which some clients have."""
    engine, rows = tiny_engine("logistic", tiny_clients("logistic")), torch.arange(2)
    weights = engine.model.init(Keys.of(range(2)))
    lost = weights.clone()
    lost[1] = value
    found, sound = (correct_answers(engine, engine.evaluator, part, rows) for part in (lost, weights))
    assert engine.evaluator.correct(lost, rows)[1].any()
    assert not found[1].any()
    assert torch.equal(found[0], sound[0])


def test_no_test_image_is_left_out() -> None:
    images = torch.randn(TEST_CHUNK + 3, 1, 2, 2)
    labels = torch.arange(len(images))
    cut = cut_test_set(images, labels)
    assert cut.images.shape == (1, 2, TEST_CHUNK, 1, 2, 2)
    assert cut.size.tolist() == [[TEST_CHUNK, 3]]
    assert torch.equal(cut.images[cut.real()], images)
    assert torch.equal(cut.labels[cut.real()], labels)
    few = cut_test_set(images[:3], labels[:3])
    assert few.size.tolist() == [[3]]
