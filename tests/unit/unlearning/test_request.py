"""Requests: who leaves, drawn by name, and what is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sifu.config.fields import build
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.errors import ConfigError, SifuError
from sifu.unlearning.request import Request, client_mask, draw_requests
from tests.unit.plan.test_load import GOOD


def test_a_class_leaves_together() -> None:
    first, *_ = draw_requests(build(Scenario, GOOD, "x"), Keys.of([0, 1]))
    assert first[0].nonzero().flatten().tolist() == list(range(0, 100, 10))
    assert torch.equal(first[0], first[1])


def test_a_group_leaves_together() -> None:
    """The paper's code: clients with the same i mod 10, the same in every seed."""
    partition = {"kind": "dirichlet", "num_clients": 25, "alpha": 1.0}
    given = GOOD | {"partition": partition, "requests": {"kind": "groups", "which": [3, 0]}}
    first, second = draw_requests(build(Scenario, given, "x"), Keys.of([0, 1]))
    assert first[1].nonzero().flatten().tolist() == [3, 13, 23]
    assert second[0].nonzero().flatten().tolist() == [0, 10, 20]
    assert torch.equal(first[0], first[1])
    for which, words in (
        ([10], "each of the groups 0 to 9"),
        ([1, 1], "at most once"),
        (list(range(10)), "must remain"),
    ):
        with pytest.raises(ConfigError, match=words):
            build(Scenario, given | {"requests": {"kind": "groups", "which": which}}, "x")


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 20))
def test_random_requests_never_overlap(seed: int, count: int, size: int) -> None:
    scenario = build(Scenario, GOOD | {"requests": {"kind": "random", "num_requests": count, "size": size}}, "x")
    masks = draw_requests(scenario, Keys.of([seed, seed + 1]))
    assert [mask.sum(1).tolist() for mask in masks] == [[size, size]] * count
    assert int(torch.stack(masks).sum(0).max()) == 1


def test_unknown_and_repeated_clients_are_refused() -> None:
    assert client_mask([1, 3], 5).tolist() == [False, True, False, True, False]
    for clients, words in (([5], "client 5 does not exist"), ([-1], "does not exist"), ([2, 2], "named twice")):
        with pytest.raises(SifuError, match=words):
            client_mask(clients, 5)


def test_requests_that_cannot_be() -> None:
    everyone = torch.ones(1, 3, dtype=torch.bool)
    one = torch.tensor([[True, False, False]])
    request = Request.of(1, one, everyone)
    assert request.remain.tolist() == [[False, True, True]]
    for forget, available, words in (
        (~everyone, everyone, "request 2 is empty"),
        (one, request.remain, "forgotten before"),
        (request.remain, request.remain, "leaves no client"),
    ):
        with pytest.raises(SifuError, match=words):
            Request.of(2, forget, available)
