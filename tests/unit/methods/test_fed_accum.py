"""FedAccum: the sum that is made once, and the last round as released; its closed form is in
test_quadratic_clients.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.contract.world import World, masks
from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation.stop import Stop
from sifu.methods.fed_accum import FedAccum
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.past_round import PastRound
from sifu.unlearning.replay_cache import ReplayCache
from tests.contract.answer import nobody, server_for, unlearn


def test_with_nobody_removed_fed_accum_is_the_training() -> None:
    world = World.make()
    request, server = server_for(world, nobody(world))
    found = unlearn(FedAccum(), world.lineage, request, server, Keys.of(world.seeds))
    torch.testing.assert_close(found.segment.final, world.lineage.current, rtol=1e-5, atol=1e-6)
    assert server.spent.client_steps.tolist() == [0, 0, 0]


def test_fed_accum_as_released_is_the_last_round_without_the_forgotten_clients() -> None:
    world = World.make()
    forget = masks(7, 3)[0]
    request, server = server_for(world, forget)
    method, keys = FedAccum(as_released=True), Keys.of(world.seeds)
    found = unlearn(method, world.lineage, request, server, keys).segment.final
    last = world.lineage.engine.updates(world.lineage.segments[0], torch.tensor([7, 7, 7]))
    for seed in range(3):
        stays = [j for j, c in enumerate(last.cohort[seed].tolist()) if not forget[seed, c]]
        sizes = world.lineage.engine.clients.size[seed, last.cohort[seed][stays]].float()
        mean = (last.local[seed, stays] * (sizes / sizes.sum())[:, None]).sum(0)
        torch.testing.assert_close(found[seed], mean, rtol=1e-5, atol=1e-6)
    later = replace(request, number=2)
    assert torch.equal(unlearn(method, world.lineage, later, server, keys).segment.final, world.lineage.current)


def test_fed_accum_as_released_in_a_training_that_ended_at_once() -> None:
    """Seed 1 has no last round: it stays where it is."""
    world = World.make()
    segment = world.lineage.segments[0]
    ended = replace(segment, rounds=torch.tensor([8, 0, 8]))
    history = Lineage.of(world.lineage.engine, ended)
    remain = ~masks(7, 3)[0]
    found, whole = history.last_round(remain), world.lineage.last_round(remain)
    assert torch.equal(found[[0, 2]], whole[[0, 2]])
    assert torch.equal(found[1], world.lineage.start[1])


def test_a_sum_over_the_training_is_made_once_for_all_stop_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two branches grow from the same training: both begin with its sum, and only their own rounds are walked anew.

    Also where no round has room, as with networks.
    """
    world = World.make()
    world = replace(world, lineage=replace(world.lineage, cache=ReplayCache(room=0)))
    remain = ~masks(7, 3)[1]
    engine, end, keys = world.lineage.engine, world.lineage.end, Keys.of(world.seeds)
    walked: list[int] = []
    plain = Lineage.updates

    def counted(self: Lineage, branch: int, clients: Tensor) -> Iterator[tuple[PastRound, Tensor, Tensor]]:
        walked.append(branch)
        return plain(self, branch, clients)

    monkeypatch.setattr(Lineage, "updates", counted)
    for rounds in (2, 3):
        stop = Stop(None, 0, torch.full((3,), rounds))
        branch = engine.run(world.lineage.current, remain, keys.fold("branch", rounds), stop)
        grown = world.lineage.grow(end, branch)
        alone = replace(grown, cache=ReplayCache())
        assert torch.equal(grown.accumulated(remain, 1), alone.accumulated(remain, 1))
        other = remain.clone()
        other[:, 1] = False
        assert not torch.equal(grown.accumulated(other, 1), grown.accumulated(remain, 2))
    first = [0, 1] * 4  # remain, alone, other, every second round: each walks the training and its branch
    assert walked == [*first, 1, 0, 1, 1, 1]  # then the training only where nothing is shared


def test_a_sum_over_other_data_is_refused() -> None:
    """One client of round 3 is said to have moved by 5 more: noticed at the end, as rounds are compared together."""
    world = World.make()
    segment = world.lineage.segments[0]
    norms = segment.trace.update_norm.clone()
    norms[1, 3, 0] += 5.0
    other = Lineage.of(world.lineage.engine, replace(segment, trace=replace(segment.trace, update_norm=norms)))
    with pytest.raises(StoreError, match="its rounds differ on replay"):
        other.accumulated(~nobody(world), 1)
