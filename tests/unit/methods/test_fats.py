"""FATS: the law of its cohorts, its cost against rho, and that a client that was never drawn costs nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.cohort import sample_cohort
from sifu.federation.stop import Stop
from sifu.methods.fats import Fats
from sifu.unlearning.sequence import Answer, answer_requests, target_rule

ROUNDS = 8  # of the world's training


def asked(method: Fats, forget: list[Tensor], seeds: range = range(6)) -> tuple[World, list[Answer]]:
    """A world of so few draws that some clients are in no round, and the answers under the method's own stop rule."""
    scenario = method.training(SCENARIO)
    world = World.make(seeds=seeds, scenario=scenario)
    keys = Keys.of(seeds).fold("unlearn")
    return world, answer_requests(method, world.lineage, forget, scenario, target_rule(scenario), keys)


def test_rho_decides_how_many_are_drawn() -> None:
    """M = 10,000 and R = 100: m = rho x 100; at least one client, at most all."""
    many = replace(SCENARIO, partition=replace(SCENARIO.partition, num_clients=10_000))
    for rho, drawn in ((0.1, 10), (1.0, 100), (0.001, 1), (1e6, 10_000)):
        trained = Fats(rho=rho, rounds=100).training(many)
        assert trained.federation.clients_per_round == drawn
        assert (trained.stop.min_rounds, trained.stop.max_rounds) == (100, 100)


def test_a_client_that_was_never_drawn_costs_nothing() -> None:
    """Each seed keeps its model until the first round with client 1, and has 8 rounds in all afterwards."""
    method, (forget, *_) = Fats(rho=0.01, rounds=ROUNDS), masks(7, 6)
    world, (answer,) = asked(method, [forget])
    cohorts = world.lineage.segments[0].trace.cohort  # [S, T, 1]
    free = 0
    for s, (node, work) in enumerate(zip(answer.unlearned.node.round, answer.work.rounds, strict=True)):
        drawn = [n for n in range(ROUNDS) if int(cohorts[s, n, 0]) == 1]
        assert int(node) == (drawn[0] if drawn else ROUNDS)
        assert int(work) == ROUNDS - int(node)
        if not drawn:
            free += 1
            assert torch.equal(answer.unlearned.weights[s], world.lineage.current[s])
            assert int(answer.work.client_steps[s]) == int(answer.work.comm_floats[s]) == 0
    assert 0 < free < 6, "both cases are there"
    assert not (answer.unlearned.segment.trace.cohort == 1).any()


def test_every_answer_of_a_sequence_has_all_rounds() -> None:
    """What is kept of the branches and what is new make 8 rounds, and none has a client forgotten so far."""
    method = Fats(rho=1.5, rounds=ROUNDS)
    _, answers = asked(method, masks(7, 6))
    for answer in answers:
        lineage = answer.before.grow(answer.unlearned.node, answer.unlearned.segment)
        assert torch.stack(lineage.kept).clamp(min=0).sum(0).tolist() == [ROUNDS] * 6  # -1: a branch that is dropped
        assert answer.unlearned.promise is not None
        for segment, kept in zip(lineage.segments, lineage.kept, strict=True):
            for s in range(6):
                cohorts = segment.trace.cohort[s, : max(0, int(kept[s]))].unique()
                gone = torch.nonzero(~answer.request.remain[s]).flatten()
                assert not torch.isin(cohorts, gone).any()


def test_cohorts_after_a_request_have_the_law_of_those_without_the_client() -> None:
    """M = 4, m = 2, two rounds, client 0 leaves: 3 x 3 pairs of cohorts of the others, all as likely.

    Chi-square over 100,000 seeds: 8 degrees of freedom, above 26.1 with probability 0.001.
    """
    count, seeds = 100_000, range(100_000)
    everyone, others = torch.ones(count, 4, dtype=torch.bool), torch.ones(count, 4, dtype=torch.bool)
    others[:, 0] = False
    old, new = Keys.of(seeds).fold("train"), Keys.of(seeds).fold("recovery")
    touched, code = torch.zeros(count, dtype=torch.bool), torch.zeros(count, dtype=torch.int64)
    for number in range(2):
        rounds = torch.full((count,), number)
        before, again = sample_cohort(old, rounds, everyone, 2), sample_cohort(new, rounds, others, 2)
        touched |= (before == 0).any(1)
        cohort = torch.where(touched[:, None], again, before)
        code = code * 3 + (cohort.sum(1) - 3)  # {1, 2}, {1, 3}, {2, 3} have the sums 3, 4, 5
    found = torch.bincount(code, minlength=9).double()
    assert len(found) == 9
    assert float(((found - count / 9) ** 2 / (count / 9)).sum()) < 26.1


@pytest.mark.parametrize("drawn", [1, 2, 5])
def test_cost_against_rho(drawn: int) -> None:
    """M = 20, R = 10, q = m / 20: the share of free requests is (1 - q)^R, the mean of rounds R - (1-q)(1-(1-q)^R)/q.

    20,000 seeds: the mean of at most 10 rounds has a standard error below 0.036, the share one below 0.0036.
    """
    count, rounds, q = 20_000, 10, drawn / 20
    keys, first = Keys.of(range(count)), torch.full((count,), rounds)
    everyone = torch.ones(count, 20, dtype=torch.bool)
    for number in reversed(range(rounds)):
        cohort = sample_cohort(keys, torch.full((count,), number), everyone, drawn)
        first = torch.where((cohort == 0).any(1), number, first)
    free = (1 - q) ** rounds
    assert float((first == rounds).double().mean()) == pytest.approx(free, abs=4 * 0.0036)
    expected = rounds - (1 - q) * (1 - free) / q
    assert float((rounds - first).double().mean()) == pytest.approx(expected, abs=4 * 0.036)


def test_a_budget_is_refused() -> None:
    """Under a budget of two rounds, seeds in which the client was drawn early would end with fewer rounds than R."""
    method, (forget, *_) = Fats(rho=0.5, rounds=ROUNDS), masks(7, 6)
    scenario = method.training(SCENARIO)
    world = World.make(seeds=range(6), scenario=scenario)
    for steps in (4, 10**6):  # a seed that has enough is refused as well: who is refused must not tell who was drawn
        stop = Stop.at_budget(torch.full((6,), steps), torch.full((6,), 2))
        with pytest.raises(MethodRefused, match="R rounds in all, which a budget may not pay for"):
            answer_requests(
                method, world.lineage, [forget], scenario, lambda request, stop=stop: stop, Keys.of(range(6))
            )
