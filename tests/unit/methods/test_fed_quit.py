"""FedQUIT: the virtual teacher, its slope, and what it ends at."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.contract.world import World, masks, random_clients
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.errors import MethodRefused
from sifu.federation.local.loss import Distillation
from sifu.federation.stop import Stop
from sifu.methods.fed_quit import FedQuit

LOGITS = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])
LABELS = torch.tensor([0, 1])


def test_the_teacher_does_not_know_the_true_class() -> None:
    """The logit of the label becomes the smallest of all, or zero."""
    assert FedQuit().virtual(LOGITS, LABELS).tolist() == [[-1.0, -1.0, 0.5], [0.0, 0.0, 1.0]]
    assert FedQuit(target="zero").virtual(LOGITS, LABELS).tolist() == [[0.0, -1.0, 0.5], [0.0, 0.0, 1.0]]


def test_the_slope_at_the_start_is_the_difference_of_the_answers() -> None:
    """d KL(p_virt || p) / d z = p - p_virt: positive for the label, zero in sum."""
    loss = Distillation(torch.zeros(1, 1), targets=FedQuit().virtual)
    student = LOGITS.clone().requires_grad_()
    loss(student, LABELS, LOGITS).sum().backward()
    expected = LOGITS.softmax(1) - FedQuit().virtual(LOGITS, LABELS).softmax(1)
    torch.testing.assert_close(student.grad, expected)
    assert (expected.gather(1, LABELS[:, None]) > 0).all()
    torch.testing.assert_close(expected.sum(1), torch.zeros(2), rtol=0, atol=1e-6)


def test_with_two_classes_the_teacher_is_undecided() -> None:
    """The smallest logit is that of the other class: both are the same, and forgetting ends at chance."""
    two = torch.tensor([[2.0, -1.0], [-3.0, 4.0]])
    assert FedQuit().virtual(two, LABELS).softmax(1).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_a_step_has_32_examples() -> None:
    """One epoch, as published, whatever the federation's batches are: 33 examples take two steps, 32 one."""
    few = random_clients(1)
    data = Clients(*(part.repeat_interleave(5, dim=2) for part in (few.images, few.labels)), few.size * 0 + 33)
    data.size[0, 1] = 32
    world = World.make(data, seeds=range(1))
    for forget, steps in ((masks(7, 1)[0], 1), (masks(7, 1)[1], 2 * 2)):  # client 1; clients 0 and 3
        (answer,) = world.answer(FedQuit(), [forget], rounds=0)
        assert answer.work.client_steps.tolist() == [steps]


@pytest.mark.second
def test_a_long_training_forgets_what_was_known() -> None:
    """One client of 5 examples, 10 classes: the label ties with the least likely class, so that none is right any more.

    Of two clients each forgets its own examples; their mean still knows most of both.
    """
    world = World.make()
    engine, rows = world.lineage.engine, torch.arange(3)
    method = FedQuit(lr=0.001, epochs=60.0, batch_size=4)
    for forget, left in ((masks(7, 3)[0], False), (masks(7, 3)[1], True)):
        (answer,) = world.answer(method, [forget], rounds=0)
        after = engine.evaluator.correct(answer.unlearned.weights, rows)[forget]
        assert bool(after.any()) == left
    assert answer.work.client_steps.tolist() == [2 * 60 * 2] * 3  # two clients of 8 examples, batches of 4


def test_as_released_an_oracle_ends_recovery() -> None:
    """The rounds of recovery until the test accuracy is the retrained model's, by a plain loop; a target has no say.

    Large steps of the client to forget hurt the others as well, and the test set is what client 2 has: it takes rounds.
    """
    world, forget = World.make(seeds=range(2)), masks(7, 2)[:1]
    data = world.lineage.engine.clients
    test = Clients(data.images[:1, 2:3], data.labels[:1, 2:3], data.size[:1, 2:3])
    engine = replace(world.lineage.engine, test_data=test)
    world = replace(world, lineage=replace(world.lineage, engine=engine))
    method = FedQuit(as_released=True, lr=0.1, epochs=5.0)
    (answer,) = world.answer(method, forget, rounds=6)
    (start,) = world.answer(replace(method, as_released=False), forget, rounds=0)
    keys = Keys.of(range(2)).fold("unlearn").fold("request", 1)

    def trained(model: Tensor, stream: str, rounds: int) -> Tensor:
        stop = Stop(None, 0, torch.full((2,), rounds))
        return engine.run(model, answer.request.remain, keys.fold(stream), stop).final

    def right(models: Tensor, s: int) -> int:
        images, labels = (part[0, 0, : int(test.size)] for part in (test.images, test.labels))
        return int((engine.model.logits(models[s], images).argmax(1) == labels).sum())

    path = [trained(start.unlearned.weights, "recovery", rounds) for rounds in range(7)]
    retrained, rounds = trained(world.lineage.start, "oracle", 6), answer.unlearned.segment.rounds
    for s in range(2):
        met = [n for n in range(7) if right(path[n], s) >= right(retrained, s)]
        assert int(rounds[s]) == (met[0] if met else 6)
    assert answer.work.client_steps.tolist() == (5 + 2 * 3 * rounds).tolist()  # 5 epochs of one batch; K = 2, m = 3
    assert rounds.any()
    assert not FedQuit().oracle
    alone = replace(world, lineage=replace(world.lineage, engine=replace(engine, test_data=None)))
    with pytest.raises(MethodRefused, match="a test set, and there is none"):
        alone.answer(method, forget)
