"""Psi against the paper's double sum, sets of clients, and what noise really hides."""

from __future__ import annotations

import math

import pytest
import torch

from sifu.certificate.sensitivity import accumulate, client_increments, set_increments, spread_clients
from sifu.history import Segment, Trace
from sifu.types import Status
from tests import reference

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
    found = client_increments(SEGMENT, SIZE, "cohort")[0]
    close(found[:2], [[1 / 6, 12.0], [0.25, 8.0]])
    assert float(found[2, 0]) == pytest.approx(0.9)


def test_a_set_together_by_hand() -> None:
    """Clients 0 and 1 leave. By share: (0.1 x 1, 0.3 x 0.5, 0.1 x 3) / 0.6; by cohort client 0 is all of round 3."""
    leavers = torch.tensor([[True, True, False]])
    close(set_increments(SEGMENT, SIZE, leavers, "share")[0], [0.1 / 0.6, 0.15 / 0.6, 0.3 / 0.6])
    by_cohort = set_increments(SEGMENT, SIZE, leavers, "cohort")[0]
    close(by_cohort[:2], [(1 / 7) / (6 / 7), (0.5 / 3) / (2 / 3)])
    assert float(by_cohort[2]) == pytest.approx(0.9)


def test_a_set_of_one_is_the_client() -> None:
    for weight in ("share", "cohort"):
        alone = spread_clients(client_increments(SEGMENT, SIZE, weight), COHORT, 3)
        for client in range(3):
            leavers = torch.arange(3).unsqueeze(0) == client
            torch.testing.assert_close(set_increments(SEGMENT, SIZE, leavers, weight), alone[..., client])


@pytest.mark.parametrize("contraction", [1.0, 0.9, 1.05])
def test_psi_is_the_papers_sum(contraction: float) -> None:
    increments = spread_clients(client_increments(SEGMENT, SIZE, "share"), COHORT, 3)
    psi = accumulate(increments, contraction**2)[0]
    distances = [{0: 1.0, 2: 2.0}, {1: 0.5, 2: 4.0}, {0: 3.0}]
    expected = reference.sensitivity(distances, [0.1, 0.3, 0.6], contraction, 2)
    torch.testing.assert_close(psi, torch.tensor([[0.0] * 3, *expected], dtype=torch.float64))


def test_psi_goes_on_from_where_it_was() -> None:
    increments = torch.tensor([[1.0, 2.0, 4.0]])
    for factor in (1.0, 0.5):
        whole = accumulate(increments, factor)
        rest = accumulate(increments[:, 1:], factor, start=whole[:, 1])
        torch.testing.assert_close(rest, whole[:, 1:])
    assert math.isclose(float(accumulate(increments, 0.5)[0, -1]), 4 + 1 + 0.25)
