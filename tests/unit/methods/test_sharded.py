"""Sharded federations: exact, and as dear as the shards that are hit."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.contract.world import SCENARIO, World, masks, scenario_for, trained
from sifu.core.keys import Keys
from sifu.errors import ConfigError, MethodError
from sifu.federation.stop import Stop
from sifu.methods.sharded import Sharded
from sifu.unlearning.answer_numbers import certificate_numbers
from sifu.unlearning.method import Unlearned, exact_promise
from sifu.unlearning.method_types import History, Request, Server
from sifu.unlearning.sequence import Answer, answer_request, budget_rule

METHOD = Sharded(shards=5)  # of 7 clients: {0, 1}, {2}, {3, 4}, {5}, {6}; requests (1), (0, 3), (5)
WORLD = trained(scenario_for(METHOD))


def models(row: Tensor) -> Tensor:
    """[S, k P] -> [k, S, P]"""
    return WORLD.lineage.engine.model.models(row)


@pytest.fixture(scope="module")
def answers() -> list[Answer]:
    return WORLD.answer(METHOD)


def test_the_federation_samples_every_shard() -> None:
    """m = 3 clients a round are too few for 5 shards: one of each."""
    federation = METHOD.training(SCENARIO).federation
    assert federation.clients_per_round == 5
    assert federation.num_models == 5
    assert Sharded(shards=2).training(SCENARIO).federation.clients_per_round == 4


def test_a_shard_without_forgotten_clients_never_knew_them() -> None:
    """A training without client 1 at all has the same models in the shards 1 to 4, to the bit; shard 0 differs."""
    never = torch.ones(2, 7, dtype=torch.bool)
    never[:, 1] = False
    without = World.make(seeds=range(2), available=never, scenario=WORLD.scenario).lineage.current
    assert torch.equal(models(without)[1:], models(WORLD.lineage.current)[1:])
    assert not torch.equal(models(without)[0], models(WORLD.lineage.current)[0])


def test_only_the_shards_that_are_hit_start_again(answers: list[Answer]) -> None:
    before = models(WORLD.lineage.current)
    for answer, hit, empty in zip(answers, ([0], [0, 2], [3]), ([], [0], [0, 3]), strict=True):
        segment = answer.unlearned.segment
        start, after = models(segment.start), models(segment.final)
        for shard in range(5):
            if shard in empty:
                assert not after[shard].any()
            elif shard in hit:
                assert torch.equal(start[shard], models(WORLD.lineage.start)[shard])
                assert not torch.equal(after[shard], start[shard])
            else:
                assert torch.equal(after[shard], before[shard])
        before = after


def test_the_shard_is_retrained_as_a_federation_of_its_own(answers: list[Answer]) -> None:
    """Shard 0 after the first request: client 0 alone, from its initial model, four rounds of the ordinary engine."""
    engine, segment = WORLD.lineage.engine, answers[0].unlearned.segment
    plain = replace(engine, federation=replace(engine.federation, shards=None, clients_per_round=1))
    only = torch.zeros(2, 7, dtype=torch.bool)
    only[:, 0] = True
    stop = Stop(None, 0, torch.full((2,), 4))
    expected = plain.run(models(WORLD.lineage.start)[0], only, Keys(segment.key_state), stop)
    assert torch.equal(models(segment.final)[0], expected.final)


def test_cost_is_that_of_the_shards_that_are_hit(answers: list[Answer]) -> None:
    """Four rounds of K = 2 steps: one client of shard 0; then client 4 of shard 2, as shard 0 is empty; then nobody."""
    size = WORLD.lineage.engine.model.num_weights
    assert [answer.work.client_steps.tolist() for answer in answers] == [[8, 8], [8, 8], [0, 0]]
    assert [answer.work.comm_floats.tolist() for answer in answers] == [[8 * size] * 2] * 2 + [[0, 0]]
    assert [answer.work.rounds.tolist() for answer in answers] == [[4, 4], [4, 4], [0, 0]]


def test_a_budget_buys_as_many_rounds_as_a_shard_needs() -> None:
    """Half of the training's 8 rounds x 5 clients x 2 steps are 40 steps: 20 rounds of one client."""
    rule = budget_rule(WORLD.scenario, 0.5, torch.tensor([80, 80]))
    keys = Keys.of(WORLD.seeds)
    answer, _ = answer_request(METHOD, WORLD.lineage, masks(7, 2)[0], WORLD.scenario, rule, keys)
    assert answer.work.rounds.tolist() == [20, 20]
    assert answer.work.client_steps.tolist() == [40, 40]


def test_exact_for_all_clients_forgotten_so_far(answers: list[Answer]) -> None:
    for answer in answers:
        promise = answer.unlearned.promise
        assert promise is not None
        assert (promise.epsilon, promise.delta, promise.everyone) == (0.0, 0.0, True)
        assert not promise.sigma.any()


def test_what_recovery_starts_from_is_that_of_a_federation_without_the_clients(answers: list[Answer]) -> None:
    """To the bit, after each request: for its clients, and for all who were forgotten so far."""
    for answer in answers:
        worth = answer.worth
        assert worth is not None
        assert worth.alpha is not None
        for distance in (worth.alpha, worth.psi, worth.single_psi, worth.everyone_psi, *worth.actual):
            assert distance.tolist() == [0.0, 0.0]
        numbers = certificate_numbers(answer)
        assert not numbers["empty_psi"].any(), "as of any method that is exact without noise"


class KeepsAll(Sharded):
    """Says that it is exact, and leaves the shard of the clients as it is."""

    name = "keeps_all"

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        kept = history.current
        segment = server.recover_shards(kept, keys, server.shards_of(request.forget))
        return Unlearned(segment, history.end, replace(exact_promise(request), blurred=kept))


def test_a_shard_that_keeps_what_a_client_did_is_no_exact_promise() -> None:
    """The distance is that of shard 0 trained with client 1 and without: the others are the same."""
    first = WORLD.answer(KeepsAll(shards=5))[0]
    never = torch.ones(2, 7, dtype=torch.bool)
    never[:, 1] = False
    without = World.make(seeds=range(2), available=never, scenario=WORLD.scenario).lineage.current
    expected = (models(without)[0] - models(WORLD.lineage.current)[0]).double().norm(dim=1)
    assert first.worth is not None
    assert torch.allclose(first.worth.psi, expected, rtol=1e-6)
    assert bool((first.worth.psi > 0).all())
    assert first.worth.actual[0].isinf().all()


def test_more_shards_than_clients_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"2 to partition\.num_clients \(7\)"):
        Sharded(shards=8).training(SCENARIO)


def test_a_federation_without_shards_is_refused() -> None:
    with pytest.raises(MethodError, match="give it a `training`"):
        trained(SCENARIO).answer(METHOD)
