"""The same clients, cohorts and batches through Flower and through the suite's engine, request after request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sifu.certificate.rules import rules_of
from sifu.config.certificate import Certificate
from sifu.config.federation import Federation
from sifu.core.keys import Keys
from sifu.federation.stop import Stop
from sifu.flower.store import Store
from sifu.plan.variants import build_method
from sifu.unlearning.answer_numbers import certificate_numbers
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.request import client_mask
from sifu.unlearning.sequence import Answer, answer_request
from tests.flower.federation import SEED, World

pytestmark = pytest.mark.flower
ROUNDS, RECOVERY = 12, 4
REQUESTS = (("1",), ("0", "5"))
PARTIAL = Federation(clients_per_round=3, local_steps=2, batch_size=4, client_lr=0.02)
FULL = Federation(clients_per_round=7, local_steps=2, batch_size=4, client_lr=0.02)


def by_engine(world: World, certificate: Certificate) -> tuple[list[Lineage], list[Answer]]:
    """The lineage before each request and after all, and the answers."""
    engine, keys = world.engine, Keys.of([SEED])
    everyone = torch.ones(1, len(world.sizes), dtype=torch.bool)
    stop = Stop(None, 0, torch.tensor([ROUNDS]))
    lineages = [Lineage.of(engine, engine.run(world.start, everyone, keys.fold("train"), stop, snapshot_every=1))]
    answers, method = [], build_method("sifu", {}, certificate)
    for clients in REQUESTS:
        mask = client_mask([int(client) for client in clients], len(world.sizes))[None]
        rule = lambda request: Stop(None, 0, torch.tensor([RECOVERY]))  # noqa: E731
        answer, lineage = answer_request(method, lineages[-1], mask, world.scenario, rule, keys.fold("unlearn"))
        answers.append(answer)
        lineages.append(lineage)
    return lineages, answers


CASES = {
    "published": (PARTIAL, Certificate(sigma=0.02), {"spares": 3}),
    "strict": (PARTIAL, Certificate(sigma=0.05, preset="strict"), {"spares": 3}),
    "empty seats": (PARTIAL, Certificate(sigma=0.1, preset="empty_seats"), {"spares": 3}),
    "everyone": (FULL, Certificate(sigma=0.05, preset="strict", covers="everyone"), {}),
    "contraction": (FULL, Certificate(sigma=0.03, contraction=0.9), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_flower_and_the_engine_agree(case: str, tmp_path: Path) -> None:
    federation, certificate, options = CASES[case]
    world = World(federation)
    lineages, answers = by_engine(world, certificate)
    strategy, grid = world.strategy(tmp_path, certificate, **options), world.grid()
    result = strategy.start(grid, world.initial, num_rounds=ROUNDS)
    same_weights(result.arrays.to_numpy_ndarrays()[0], lineages[0].current)
    for number, (clients, expected) in enumerate(zip(REQUESTS, answers, strict=True)):
        same_psi(strategy, lineages[number], clients, certificate)
        answer = strategy.forget(clients, grid=grid, num_rounds=RECOVERY)
        node = expected.unlearned.node
        assert answer.cut == (int(node.branch), int(node.round))
        same_weights(strategy.arrays.to_numpy_ndarrays()[0], lineages[number + 1].current)
        numbers = certificate_numbers(expected)
        for name in ("sigma", "psi", "psi_star", "strict_psi", "single_psi", "everyone_psi"):
            close(getattr(answer.certificate, name), float(numbers[name]))
        close(answer.certificate.actual_epsilon, float(numbers["actual_epsilon"]))
        close(answer.certificate.actual_delta, float(numbers["actual_delta"]))
        assert answer.certificate.covers == int(numbers["covers"])


def test_the_cuts_lie_inside_the_training(tmp_path: Path) -> None:
    """The cases above would show little if every cut were the start, or the end."""
    for federation, certificate, _ in CASES.values():
        _, answers = by_engine(World(federation), certificate)
        assert any(0 < int(answer.unlearned.node.round) < ROUNDS for answer in answers)


def same_weights(found: np.ndarray, expected: torch.Tensor) -> None:
    np.testing.assert_allclose(found, expected[0].numpy(), rtol=1e-4, atol=2e-6)  # float32, sums in another order


def same_psi(strategy: object, lineage: Lineage, clients: tuple[str, ...], certificate: Certificate) -> None:
    """Psi at every node of the lineage, by the certificate's rules."""
    rules, history = rules_of(certificate), Store(strategy.folder).history  # type: ignore[attr-defined]
    factor = certificate.contraction**2
    mask = client_mask([int(client) for client in clients], 7)[None]
    expected = lineage.sensitivity(mask, rules, factor)
    for (branch, number), value in history.psi(clients, rules, factor, float("inf")).items():
        close(value, float(expected[branch][0, number]))


def close(found: float, expected: float) -> None:
    assert found == pytest.approx(expected, rel=2e-4, abs=1e-7)
