"""Subtract and distil: what subtraction leaves, and that distillation brings the teacher back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from sifu.contract.world import World, masks
from sifu.core.types import Clients
from sifu.methods.fed_accum import FedAccum
from sifu.methods.subtract_and_distil import SubtractAndDistil
from tests.quadratic_clients import CLIENTS, forgotten_by, quadratic_lineage

ALONE = SubtractAndDistil(epochs=0.0)


def test_subtracting_everybody_leaves_the_initial_model() -> None:
    model, server = forgotten_by(ALONE, quadratic_lineage(30), tuple(range(CLIENTS)))
    torch.testing.assert_close(model, quadratic_lineage(30).start[0], rtol=0, atol=1e-12)
    assert server.spent.client_steps.tolist() == [0]


def test_a_client_that_never_took_part_changes_nothing() -> None:
    """Seeds in which some client was in no round keep their model; in the others client 0 leaves, and they do not."""
    world = World.make()
    segment = world.lineage.segments[0]
    absent = [[c for c in range(7) if not (segment.trace.cohort[s] == c).any()] for s in range(3)]
    forget = torch.zeros(3, 7, dtype=torch.bool)
    for s in range(3):
        forget[s, absent[s][:1] or [0]] = True
    (answer,) = world.answer(ALONE, [forget], rounds=0)
    for s in range(3):
        same = torch.equal(answer.unlearned.weights[s], world.lineage.current[s])
        assert same == bool(absent[s])


def test_two_requests_take_away_what_one_of_both_does() -> None:
    """p_u is the weight in the round as it was: a client that was forgotten before still counts in it."""
    world, (first, second, _) = World.make(), masks(7, 3)
    later = world.answer(ALONE, [first, second], rounds=0)[1].unlearned.weights
    at_once = world.answer(ALONE, [first | second], rounds=0)[0].unlearned.weights
    torch.testing.assert_close(later, at_once, rtol=1e-4, atol=1e-6)


def test_averaging_is_fed_accum() -> None:
    world = World.make()
    one, other = (
        world.answer(method, rounds=2) for method in (SubtractAndDistil(rule="average", epochs=0), FedAccum())
    )
    assert all(torch.equal(a.unlearned.weights, b.unlearned.weights) for a, b in zip(one, other, strict=True))


def softmax(z: np.ndarray) -> np.ndarray:
    return np.exp(z) / np.exp(z).sum()


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_distillation_is_the_plain_loop(temperature: float) -> None:
    """Logits are theta - image. d KL(softmax(z / T) || softmax(z' / T)) / dz' is the difference of both over T;
    Adam's steps depend on how such slopes compare from step to step. One example at the server, four epochs.
    """
    image = np.array([0.3, -1.0, 0.7, 2.0])
    held = Clients(torch.tensor(image).view(1, 1, 1, 1, 1, 4), *(torch.ones(1, 1, 1).long(), torch.ones(1, 1).long()))
    lineage = replace(quadratic_lineage(3), engine=replace(quadratic_lineage(3).engine, server_data=held))
    method = SubtractAndDistil(epochs=4.0, lr=0.1, temperature=temperature)
    student, _ = forgotten_by(method, lineage)
    x, teacher = forgotten_by(replace(method, epochs=0.0), lineage)[0].numpy(), quadratic_lineage(3).current[0].numpy()
    m, v = np.zeros(4), np.zeros(4)
    for step in range(1, 5):
        g = (softmax((x - image) / temperature) - softmax((teacher - image) / temperature)) / temperature
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - 0.1 * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    np.testing.assert_allclose(student.numpy(), x, rtol=1e-6, atol=1e-9)


def divergence(world: World, weights: Tensor) -> Tensor:
    """KL of a model's answers to the teacher's on the server's examples, the mean over them. [S]"""
    engine = world.lineage.engine
    assert engine.server_data is not None
    found = []
    for s in range(3):
        images = engine.server_data.images[s, 0]
        teacher, student = (
            engine.model.logits(row[s], images).log_softmax(1) for row in (world.lineage.current, weights)
        )
        found.append((teacher.exp() * (teacher - student)).sum(1).mean())
    return torch.stack(found)


@pytest.mark.second
def test_distillation_brings_the_teacher_back() -> None:
    """A negative control: with enough epochs the student answers as the model that knew the forgotten clients."""
    world = World.make()
    curve = []
    for epochs in (0.0, 5.0, 50.0, 400.0):
        method = SubtractAndDistil(epochs=epochs, lr=1e-4, batch_size=12, temperature=1.0)
        (answer,) = world.answer(method, masks(7, 3)[1:2], rounds=0)
        curve.append(divergence(world, answer.unlearned.weights))
        assert answer.work.client_steps.tolist() == [0, 0, 0]
    assert (curve[0] > curve[1]).all()
    assert (curve[1] > curve[2]).all()
    assert (curve[3] < 1e-6).all()
