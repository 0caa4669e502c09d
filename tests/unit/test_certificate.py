"""Psi against the paper's double sum."""

from __future__ import annotations

import pytest
import torch

from sifu.certificate import client_shares, sensitivity, sensitivity_increments
from sifu.history import Trace
from tests import reference

COHORT = torch.tensor([[[0, 2], [1, 2], [0, -1]]])  # one seed, three rounds
DISTANCE = torch.tensor([[[1.0, 2.0], [0.5, 4.0], [3.0, 9.0]]])
SIZE = torch.tensor([[10, 30, 60]])
TRACE = Trace(COHORT, DISTANCE, DISTANCE, DISTANCE.unsqueeze(-1))


def test_increments_by_hand() -> None:
    """p = 0.1, 0.3, 0.6: odds 1/9, 3/7, 3/2; the absent client of round 3 counts nothing."""
    expected = [[1 / 9, 3.0], [1.5 / 7, 6.0], [1 / 3, 0.0]]
    torch.testing.assert_close(
        sensitivity_increments(TRACE, SIZE)[0], torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0
    )


@pytest.mark.parametrize("contraction", [1.0, 0.9, 1.05])
def test_psi_is_the_papers_sum(contraction: float) -> None:
    psi = sensitivity(sensitivity_increments(TRACE, SIZE), COHORT, 3, contraction, local_steps=2)[0]
    distances = [{0: 1.0, 2: 2.0}, {1: 0.5, 2: 4.0}, {0: 3.0}]
    expected = reference.sensitivity(distances, client_shares(SIZE)[0].tolist(), contraction, 2)
    torch.testing.assert_close(psi, torch.tensor(expected, dtype=torch.float64))
