"""Who is first in line: as in the suite, and the same for the others when a client is forgotten."""

from __future__ import annotations

import pytest
import torch

from sifu.federation.cohort import sample_cohort
from sifu.flower.sampling import branch_keys, in_line, number_order


@pytest.mark.parametrize("branch", [0, 2])
def test_whole_numbers_are_the_clients_of_the_suite(branch: int) -> None:
    clients = [str(number) for number in range(20)]
    everyone = torch.ones(1, 20, dtype=torch.bool)
    for number in range(5):
        cohort = sample_cohort(branch_keys(3, branch), torch.tensor([number]), everyone, 6)[0].tolist()
        assert sorted(int(client) for client in in_line(clients, 3, branch, number)[:6]) == cohort


def test_a_client_less_does_not_change_the_others() -> None:
    clients = [f"hospital-{number}" for number in range(12)] + ["7", "007"]
    line = in_line(clients, 0, 0, 4)
    assert sorted(line) == sorted(clients)
    assert in_line([client for client in clients if client != line[2]], 0, 0, 4) == line[:2] + line[3:]
    assert in_line(list(reversed(clients)), 0, 0, 4) == line
    assert in_line(clients, 0, 0, 5) != line
    assert in_line(clients, 1, 0, 4) != line


def test_ids_are_ordered_as_numbers_where_they_are_numbers() -> None:
    assert sorted(["10", "b", "9", "a"], key=number_order) == ["9", "10", "a", "b"]
