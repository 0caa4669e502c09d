"""FedQUIT: the virtual teacher, its slope, and what it ends at."""

from __future__ import annotations

import torch

from sifu.contract.world import World, masks
from sifu.federation.local.loss import Distillation
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
