"""Sensitivity: Psi compared with the paper's double sum, and sets of clients."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from sifu.certificate.sensitivity import (
    accumulate,
    client_increments,
    set_increments,
    spread_clients,
)
from sifu.core.types import Status
from sifu.federation.segment import Segment, Trace
from tests import reference_unlearning

COHORT = torch.tensor([[[0, 2], [1, 2], [0, -1]]])  # one seed, three rounds
DISTANCE = torch.tensor([[[1.0, 2.0], [0.5, 4.0], [3.0, 9.0]]])
SIZE = torch.tensor([[10, 30, 60]])
STEP = torch.tensor([[0.7, 0.8, 0.9]])
NONE = torch.zeros(1, 1)
SEGMENT = Segment(
    start=NONE,
    final=NONE,
    rounds=torch.tensor([3]),
    status=(Status.DONE,),
    available=torch.ones(1, 3, dtype=torch.bool),
    key_state=torch.zeros(1, dtype=torch.int64),
    trace=Trace(COHORT, DISTANCE, DISTANCE, DISTANCE.unsqueeze(-1), STEP),
    snapshots=NONE.unsqueeze(1),
    snapshot_every=10,
)


def close(actual: torch.Tensor, expected: list[object]) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=0)


def test_increments_by_share_by_hand() -> None:
    """p = 0.1, 0.3, 0.6: odds 1/9, 3/7, 3/2; the absent client of round 3 counts nothing."""
    close(client_increments(SEGMENT, SIZE, "share")[0], [[1 / 9, 3.0], [1.5 / 7, 6.0], [1 / 3, 0.0]])


def test_increments_by_cohort_by_hand() -> None:
    """Weights 1/7 and 6/7, 1/3 and 2/3: odds 1/6, 6, 1/2, 2. Alone in round 3, client 0 is the whole step."""
    increments = client_increments(SEGMENT, SIZE, "cohort")[0]
    close(increments[:2], [[1 / 6, 12.0], [0.25, 8.0]])
    assert float(increments[2, 0]) == pytest.approx(0.9)


def test_a_set_together_by_hand() -> None:
    """Clients 0 and 1 together. By share: (0.1 x 1, 0.3 x 0.5, 0.1 x 3) / 0.6; by cohort client 0 is all of round 3."""
    forgotten = torch.tensor([[True, True, False]])
    close(set_increments(SEGMENT, SIZE, forgotten, "share")[0], [0.1 / 0.6, 0.15 / 0.6, 0.3 / 0.6])
    by_cohort = set_increments(SEGMENT, SIZE, forgotten, "cohort")[0]
    close(by_cohort[:2], [(1 / 7) / (6 / 7), (0.5 / 3) / (2 / 3)])
    assert float(by_cohort[2]) == pytest.approx(0.9)


def test_a_set_of_one_is_the_client() -> None:
    for weight in ("share", "cohort"):
        alone = spread_clients(client_increments(SEGMENT, SIZE, weight), COHORT, 3)
        for client in range(3):
            forgotten = torch.arange(3).unsqueeze(0) == client
            torch.testing.assert_close(set_increments(SEGMENT, SIZE, forgotten, weight), alone[..., client])


@pytest.mark.parametrize("contraction", [1.0, 0.9, 1.05])
def test_psi_is_the_papers_sum(contraction: float) -> None:
    increments = spread_clients(client_increments(SEGMENT, SIZE, "share"), COHORT, 3)
    psi = accumulate(increments, contraction**2)[0]
    distances = [{0: 1.0, 2: 2.0}, {1: 0.5, 2: 4.0}, {0: 3.0}]
    expected = reference_unlearning.sensitivity(distances, [0.1, 0.3, 0.6], contraction, 2)
    torch.testing.assert_close(psi, torch.tensor([[0.0] * 3, *expected], dtype=torch.float64))


def test_psi_continues_from_a_start_value() -> None:
    increments = torch.tensor([[1.0, 2.0, 4.0]])
    for factor in (1.0, 0.5):
        psi = accumulate(increments, factor)
        rest = accumulate(increments[:, 1:], factor, start=psi[:, 1])
        torch.testing.assert_close(rest, psi[:, 1:])
    assert math.isclose(float(accumulate(increments, 0.5)[0, -1]), 4 + 1 + 0.25)
    assert torch.equal(accumulate(increments, torch.full_like(increments, 0.5)), accumulate(increments, 0.5))


# --- sensitivity compared with alpha


def quadratics(seed: int, rounds: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Quadratic bed: f_i = a/2 ||x - c_i||^2, K steps of gradient descent; distances, models, centres.

    theta_i = c_i + r (theta - c_i), r = (1 - eta a)^K: FedAvg with equal clients is theta' = cbar + r (theta - cbar).
    """
    centres = torch.randn(6, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    r = (1 - 0.1) ** 5  # eta = 0.1, a = 1, K = 5
    theta, models, distances = torch.zeros(4, dtype=torch.float64), [], []
    for _ in range(rounds):
        local = centres + r * (theta - centres)
        theta = local.mean(0)
        models.append(theta)
        distances.append((theta - local).norm(dim=1))
    return torch.stack(distances), torch.stack(models), centres


@pytest.mark.parametrize("weight", ["share", "cohort"])
def test_on_quadratics_psi_equals_alpha(weight: str) -> None:
    """With B^K = r the bound is an equality, to machine precision; with B = 1 it is a valid, loose bound."""
    rounds, r = 30, (1 - 0.1) ** 5
    distances, models, centres = quadratics(3, rounds)
    cohorts = torch.arange(6).expand(1, rounds, 6)
    trace = Trace(
        cohorts,
        distances.unsqueeze(0),
        distances.unsqueeze(0),
        distances.view(1, rounds, 6, 1),
        models.norm(dim=1)[None],
    )
    segment = replace(SEGMENT, rounds=torch.tensor([rounds]), available=torch.ones(1, 6, dtype=torch.bool), trace=trace)
    size = torch.full((1, 6), 10)
    increments = spread_clients(client_increments(segment, size, weight), cohorts, 6)
    exact, loose = accumulate(increments, r)[0, 1:], accumulate(increments, 1.0)[0, 1:]
    for client in range(6):
        rest = centres[torch.arange(6) != client].mean(0)
        without = torch.stack([rest - r**n * rest for n in range(1, rounds + 1)])
        alpha = (models - without).norm(dim=1)
        torch.testing.assert_close(exact[:, client], alpha, rtol=1e-10, atol=1e-12)
        assert (loose[:, client] >= alpha - 1e-12).all()
