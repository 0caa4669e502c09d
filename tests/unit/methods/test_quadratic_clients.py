"""Quadratic clients: methods against plain loops, and distances to retraining that are known to six digits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sifu.contract.world import SCENARIO
from sifu.methods.fed_accum import FedAccum
from sifu.methods.fed_eraser import FedEraser
from sifu.methods.gradient_ascent import GradientAscent
from sifu.methods.mode import Mode
from sifu.methods.original import Original
from sifu.methods.puf import Puf
from sifu.methods.subtract_and_distil import SubtractAndDistil
from sifu.plan.variants import build_method
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Method
from sifu.unlearning.method_types import History, Keys, Request, Segment, Server
from tests.quadratic_clients import (
    CENTRES,
    CLIENTS,
    GONE,
    REMAIN,
    R,
    distance,
    forgotten_by,
    local,
    quadratic_lineage,
    trained,
)

REFERENCE = GradientAscent(lr=0.0, stop="never")  # no ascent: the model that it would begin with


def models(rounds: int) -> list[np.ndarray]:
    """theta^0, ..., theta^N by the plain loop."""
    return [trained(n) for n in range(rounds + 1)]


def original(rounds: int) -> np.ndarray:
    return trained(rounds)


def without_last(rounds: int) -> np.ndarray:
    """The last round without client 3: the mean of the other clients' models."""
    before = trained(rounds - 1)
    return np.mean([local(before, client) for client in REMAIN], axis=0)


def fed_recovery(rounds: int) -> np.ndarray:
    """theta^N - sum p_n (U_n - mean of the others), p_n proportional to ||U_n||^2."""
    passed, taken, total = models(rounds), np.zeros(4), 0.0
    for theta, after in pairwise(passed):
        others = np.mean([local(theta, client) - theta for client in REMAIN], axis=0)
        weight = float((after - theta) @ (after - theta))
        taken, total = taken + weight * (after - theta - others), total + weight
    return passed[-1] - taken / total


def all_residuals(rounds: int) -> np.ndarray:
    """theta^0 plus the mean updates of the other clients: all residuals are taken away in full."""
    return sum((np.mean([local(t, c) - t for c in REMAIN], axis=0) for t in models(rounds)[:-1]), np.zeros(4))


def calibrated(rounds: int) -> np.ndarray:
    """The first round without client 3; then updates from there with the lengths that the clients' updates had."""
    first, *others = models(rounds)[:-1]
    theta = np.mean([local(first, client) for client in REMAIN], axis=0)
    for past in others:
        updates = {client: local(theta, client) - theta for client in REMAIN}
        lengths = {client: np.linalg.norm(local(past, client) - past) for client in REMAIN}
        steps = [lengths[client] * update / np.linalg.norm(update) for client, update in updates.items()]
        theta = theta + np.mean(steps, axis=0)
    return theta


def lazy(rounds: int) -> np.ndarray:
    """theta^N less a sixth of all updates of client 3."""
    passed = models(rounds)
    return passed[-1] - sum((local(t, GONE) - t for t in passed[:-1]), np.zeros(4)) / CLIENTS


def puf_special(rounds: int) -> np.ndarray:
    theta = trained(rounds)
    return theta - 2 * (local(theta, GONE) - theta)


def puf_regular(rounds: int) -> np.ndarray:
    theta = trained(rounds)
    update = {client: local(theta, client) - theta for client in range(CLIENTS)}
    return theta + (sum(update[c] for c in REMAIN) - 20 * update[GONE]) / CLIENTS


def degraded(rounds: int) -> np.ndarray:
    """lambda^6 theta^N + (1 - lambda) sum_i lambda^(6 - i) D_i with lambda = 0.95, D_i retrained for i rounds."""
    new = sum((0.95 ** (6 - i) * trained(i, REMAIN) for i in range(1, 7)), np.zeros(4))
    return 0.95**6 * trained(rounds) + 0.05 * new


class Lazy(Method):
    """Subtraction alone: what `subtract_and_distil` begins with."""

    name = "lazy"
    keeps = frozenset({Kept.START, Kept.UPDATES, Kept.COHORTS})

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        return server.recover(SubtractAndDistil()._subtracted(history, request), keys)


# (method, plain loop, distance to retraining after 30, 60 and 120 rounds); the fixed point is reached by round 30
ROWS = {
    "original": (Original(), original, (0.458357, 0.458357, 0.458357)),
    "fed_recovery": (
        build_method("fed_recovery", {}, SCENARIO.certificate),
        fed_recovery,
        (0.270655, 0.270655, 0.270655),
    ),
    "gradient_ascent": (REFERENCE, without_last, (0.270655, 0.270655, 0.270655)),
    "fed_accum": (FedAccum(), all_residuals, (5.172698, 10.803754, 22.065864)),
    "fed_eraser": (FedEraser(every=1, calibration=1.0), calibrated, (0.173226, 0.173232, 0.173232)),
    "lazy": (Lazy(), lazy, (4.298531, 8.990379, 18.375144)),
    "mode": (Mode(guided_rounds=0), degraded, (0.343462, 0.343462, 0.343462)),
    "puf_special": (Puf(), puf_special, (1.418661, 1.418661, 1.418661)),
    "puf_regular": (Puf(updates="regular", factor=20.0), puf_regular, (2.826425, 2.826425, 2.826425)),
}


@pytest.mark.parametrize(
    ("number", "rounds"),
    [(0, 30), pytest.param(1, 60, marks=pytest.mark.second), pytest.param(2, 120, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("name", ROWS)
def test_methods_are_as_far_from_retraining_as_the_plain_loop(name: str, number: int, rounds: int) -> None:
    method, plain, expected = ROWS[name]
    model, _ = forgotten_by(method, quadratic_lineage(rounds))
    np.testing.assert_allclose(model.numpy(), plain(rounds), rtol=0, atol=1e-9)
    assert distance(model, rounds) == pytest.approx(expected[number], abs=1e-6)


def test_the_closed_forms() -> None:
    """Once theta has converged: the original is off by mean(c) - mean of the others; one round less by r times that.

    FedAccum moves by (1 - r) times that gap in every round, away from it: its sums drift linearly. FedEraser does not:
    it stays where it is however long the training was.
    """
    gap = float(np.linalg.norm(CENTRES.mean(0) - CENTRES[REMAIN].mean(0)))
    assert gap == pytest.approx(ROWS["original"][2][0], abs=1e-6)
    assert gap * R == pytest.approx(ROWS["fed_recovery"][2][0], abs=1e-6)
    drifts = tuple(gap * (rounds * (1 - R) - 1) for rounds in (30, 60, 120))
    assert drifts == pytest.approx(ROWS["fed_accum"][2], abs=1e-6)
    assert ROWS["fed_eraser"][2] == pytest.approx([ROWS["fed_eraser"][2][0]] * 3, abs=1e-5)
