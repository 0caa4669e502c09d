"""NoT: the negated network answers f(-x), and the metric on inverted images sees it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sifu.catalog.datasets import DATASETS
from sifu.contract.world import World, masks
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.stop import Stop
from sifu.methods.negation import Negation
from sifu.metrics.accuracy import accuracy
from sifu.metrics.inverted import inverted_accuracy
from sifu.metrics.measure import measured
from sifu.models.flat import FlatModel, build_model
from tests.networks import Various


def negated(model: FlatModel, weights: Tensor, layer: int = 0) -> Tensor:
    changed = weights.clone()
    model.linear_layers(changed)[layer].weight.neg_()
    return changed


@pytest.mark.parametrize("name", ["logistic", "cnn28_narrow", "various"])
def test_a_negated_first_layer_is_an_inverted_image(name: str) -> None:
    """-W x + b = W (-x) + b, whatever comes after it; the sums have the same terms, so they round the same."""
    model = FlatModel(Various((1, 28, 28), 10)) if name == "various" else build_model(name, DATASETS["mnist"])
    weights = model.init(Keys.of([0]))[0]
    images = torch.randn(5, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model.logits(negated(model, weights), images), model.logits(weights, -images))
    assert torch.equal(negated(model, negated(model, weights)), weights)
    if name != "logistic":
        assert not torch.allclose(model.logits(negated(model, weights, -1), images), model.logits(weights, -images))


def test_normalisations_are_no_linear_layers() -> None:
    model = FlatModel(Various())
    rows = model.init(Keys.of([0]))
    assert [layer.name for layer in model.linear_layers(rows)] == ["conv1", "conv2", "shortcut", "conv3", "fc"]
    assert "norm3" in [layer.name for layer in model.layers(rows)]


def test_before_recovery_nothing_is_forgotten() -> None:
    """On inverted images the negated model is as right about the clients to forget as the original is on theirs."""
    world = World.make()
    forget = masks(7, 3)[1]
    (answer,) = world.answer(Negation(), [forget], rounds=0)
    engine, before = world.lineage.engine, world.lineage.current
    model, original = (
        measured(engine, weights, forget, forget, None) for weights in (answer.unlearned.weights, before)
    )
    assert torch.equal(inverted_accuracy(model)["forget"], accuracy(original)["forget"])  # type: ignore[arg-type]
    assert not torch.equal(accuracy(model)["forget"], accuracy(original)["forget"])  # type: ignore[arg-type]


def test_it_is_further_from_retraining_than_the_initial_model() -> None:
    world = World.make()
    forget = masks(7, 3)[0]
    (negation,) = world.answer(Negation(), [forget], rounds=0)
    engine, start = world.lineage.engine, world.lineage.start
    segment = world.lineage.segments[0]
    retrained = engine.run(start, ~forget, Keys(segment.key_state), Stop(None, 0, segment.rounds)).final
    assert ((negation.unlearned.weights - retrained).norm(dim=1) > (start - retrained).norm(dim=1)).all()


def test_a_layer_that_is_named_twice_is_negated_once() -> None:
    """The first layer of a logistic regression is its last one: negated twice, nothing would have been done."""
    world, forget = World.make(), masks(7, 3)[:1]
    once, twice = (world.answer(Negation(layers=layers), forget, rounds=0) for layers in ((0,), (0, -1)))
    assert torch.equal(once[0].unlearned.weights, twice[0].unlearned.weights)
    assert not torch.equal(once[0].unlearned.weights, world.lineage.current)


def test_a_layer_that_there_is_not_is_refused() -> None:
    with pytest.raises(MethodRefused, match="the model has no layer 1: it has 1 linear"):
        World.make().answer(Negation(layers=(1,)), rounds=1)


def test_a_model_of_infinite_weights_knows_nothing() -> None:
    world = World.make()
    forget = masks(7, 3)[1]
    lost = torch.full_like(world.lineage.current, torch.nan)
    assert inverted_accuracy(measured(world.lineage.engine, lost, forget, forget, None))["forget"].tolist() == [0.0] * 3  # type: ignore[union-attr]
