"""A federation in shards: each is a federation of its own, and their models answer together."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.config.federation import Federation, Shards
from sifu.core.keys import Keys
from sifu.errors import ConfigError
from sifu.federation.cohort import cohort_places, draw_cohort, shard_of
from sifu.federation.engine import Engine
from sifu.federation.packing import Runner, run_together
from sifu.federation.segment import Segment, count_work
from sifu.federation.stop import Stop
from tests import reference
from tests.conftest import tiny_clients, tiny_engine, tiny_federation

SHARDS = Shards(count=2, num_clients=5)  # clients 0, 1, 2 and clients 3, 4: floor(2 c / 5)
KEYS = Keys.of(range(2))


def everyone() -> Tensor:
    return torch.ones(2, 5, dtype=torch.bool)


def engine_of(**changes: object) -> Engine:
    changes = {"clients_per_round": 4, "shards": SHARDS} | changes
    return tiny_engine(clients=tiny_clients(sizes=(6, 4, 6, 5, 3)), **changes)


def trained(engine: Engine, available: Tensor, rounds: int = 4, idle: Tensor | None = None) -> Segment:
    stop = Stop(None, 0, torch.full((2,), rounds))
    return engine.run(engine.initial(KEYS), available, KEYS.fold("train"), stop, snapshot_every=3, idle=idle)


def test_clients_are_dealt_out_in_blocks() -> None:
    assert shard_of(torch.arange(5), SHARDS).tolist() == [0, 0, 0, 1, 1]
    assert shard_of(torch.arange(10), Shards(count=5, num_clients=10)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert shard_of(torch.tensor([7]), SHARDS).tolist() == [1], "a padded client is in the last one"


def test_who_takes_part_in_a_shard_depends_on_no_other_shard() -> None:
    """Two of each shard; without client 3 the other shard's cohorts are the same, and its seat stays empty."""
    federation = tiny_federation(clients_per_round=4, shards=SHARDS)
    rounds, fewer = torch.arange(2), everyone()
    fewer[:, 3] = False
    all_of_them, without = (draw_cohort(KEYS, rounds, available, federation) for available in (everyone(), fewer))
    assert all_of_them.shape == (2, cohort_places(federation, 5)) == (2, 4)
    assert torch.equal(all_of_them[:, :2], without[:, :2])
    assert without[:, 2:].tolist() == [[4, -1]] * 2


@pytest.mark.parametrize("shard", [0, 1])
def test_a_shard_is_a_federation_of_its_own(shard: int) -> None:
    """To the bit: the ordinary engine, on the clients of the shard alone, with the shard's seats."""
    engine = engine_of()
    together = trained(engine, everyone())
    alone = replace(engine, federation=replace(engine.federation, shards=None, clients_per_round=2))
    own = everyone() & (shard_of(torch.arange(5), SHARDS) == shard)
    stop = Stop(None, 0, torch.full((2,), 4))
    start = engine.model.models(engine.initial(KEYS))[shard]
    expected = alone.run(start, own, KEYS.fold("train"), stop, snapshot_every=3)
    assert torch.equal(engine.model.models(together.final)[shard], expected.final)
    places = slice(2 * shard, 2 * shard + 2)
    assert torch.equal(together.trace.cohort[:, :, places], expected.trace.cohort)
    torch.testing.assert_close(together.trace.update_norm[:, :, places], expected.trace.update_norm)
    torch.testing.assert_close(together.trace.layer_norm[:, :, places], expected.trace.layer_norm)


def test_any_round_is_replayed() -> None:
    engine, idle = engine_of(), torch.zeros(2, 5, dtype=torch.bool)
    idle[:, 3:] = True
    for segment in (trained(engine, everyone()), trained(engine, everyone(), idle=idle)):
        assert torch.equal(engine.replay(segment, torch.tensor([4, 4])), segment.final)
        assert [step.number for step in engine.walk(segment)] == [0, 1, 2, 3]


def test_idle_clients_never_train_and_are_evaluated() -> None:
    engine, idle = engine_of(), torch.zeros(2, 5, dtype=torch.bool)
    idle[:, 3:] = True
    segment = trained(engine, everyone(), idle=idle)
    assert int(segment.trace.cohort.max()) == 2
    assert torch.equal(segment.available, everyone())
    assert torch.equal(segment.part(slice(1, 2)).sampled, ~idle[1:])
    first, second = engine.model.models(segment.final), engine.model.models(segment.start)
    assert torch.equal(first[1], second[1])
    assert not torch.equal(first[0], second[0])
    correct, size = engine.evaluator.correct(segment.final, torch.arange(2)), engine.clients.size
    found = [entry.retain_accuracy for entry in segment.evaluations if entry.round == 4]
    assert found == pytest.approx((correct.sum(1) / size.sum(1)).tolist())


def test_models_side_by_side_answer_with_their_mean_probability() -> None:
    engine = engine_of()
    row, images = engine.initial(KEYS)[0], engine.clients.images[0, 0]
    module = engine.model.module
    each = [reference.load_flat(module, one)(images).softmax(-1) for one in engine.model.models(row)]
    answer = engine.model.logits(row, images)
    torch.testing.assert_close(answer.exp(), sum(each) / 2)
    zero = torch.cat([row[: engine.model.num_weights], torch.zeros(engine.model.num_weights)])
    voted = engine.model.logits(zero, images).argmax(-1)
    assert torch.equal(voted, each[0].argmax(-1)), "weights of zero answer every class alike"


def test_a_client_moves_one_model() -> None:
    engine = engine_of()
    work = count_work(trained(engine, everyone()), 3, num_models=2)
    assert work.client_steps.tolist() == [4 * 4 * 3] * 2  # rounds, clients, steps
    assert work.comm_floats.tolist() == [4 * 4 * 2 * engine.model.num_weights] * 2


def test_trainings_with_idle_clients_share_a_batch() -> None:
    engine, idle = engine_of(), torch.zeros(2, 5, dtype=torch.bool)
    idle[:, 3:] = True

    def work(run: Runner, number: int) -> Segment:
        stop = Stop(None, 0, torch.full((2,), 3))
        return run(engine.initial(KEYS), everyone(), KEYS.fold(number), stop, snapshot_every=3, idle=idle)

    tasks = [lambda run, number=number: work(run, number) for number in range(2)]
    alone, packed = run_together(engine, tasks, 1), run_together(engine, tasks, 2)
    for one, other in zip(alone, packed, strict=True):
        assert torch.equal(one.final, other.final)
        assert other.idle is not None
        assert torch.equal(other.idle, idle)


def test_shards_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="2 to the number of clients"):
        Shards(count=6, num_clients=5)
    plain = {"clients_per_round": 2, "local_steps": 1, "batch_size": 1, "client_lr": 0.1}
    with pytest.raises(ConfigError, match="Poisson"):
        Federation(**plain, sampling="poisson", shards=SHARDS)  # type: ignore[arg-type]
