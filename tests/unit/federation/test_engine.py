"""The batched engine compared with the plain loop, and what must not change a result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Clients, Status
from sifu.federation.engine import Engine
from sifu.federation.evaluation import Evaluator
from sifu.federation.segment import Segment, count_work
from sifu.federation.segment_file import read_history, write_segment
from sifu.federation.stop import Stop
from sifu.store.provenance import provenance
from tests import reference
from tests.conftest import tiny_clients, tiny_engine
from tests.networks import each_model

EVERY_MODEL = pytest.mark.parametrize("name", each_model())
# In float64 only the order of sums differs from the plain loop; in float32 rounding may flip a max or a relu.
EXACT = {"rtol": 1e-10, "atol": 1e-12}
CLOSE = {"rtol": 1e-3, "atol": 1e-3}


def fixed(rounds: int, seeds: int) -> Stop:
    return Stop(None, 0, torch.full((seeds,), rounds))


def everyone(clients: Clients) -> Tensor:
    return torch.ones_like(clients.size, dtype=torch.bool)


def run(engine: Engine, stop: Stop, available: Tensor | None = None, seeds: range | None = None) -> Segment:
    seeds = seeds or range(engine.clients.num_seeds)
    keys = Keys.of(seeds)
    available = everyone(engine.clients) if available is None else available
    start = engine.model.init(keys).to(engine.clients.images.dtype)
    return engine.run(start, available, keys.fold("train"), stop, snapshot_every=2)


def plain(engine: Engine, seed: int, rounds: int, available: list[int]) -> list[Tensor]:
    """The weights of one seed after each round, by the plain loop."""
    clients, key = engine.clients, Keys.of([seed]).rows(0).fold("train")
    start = engine.model.init(Keys.of([seed]))[0]
    module = reference.load_flat(engine.model.module.to(clients.images.dtype), start)
    size, models = clients.size[seed].tolist(), []
    for number in range(rounds):
        batches = reference.round_batches(key, number, size, available, engine.federation)
        masks = key.fold("dropout", number)
        module, _ = reference.fedavg_round(
            module, clients.images[seed], clients.labels[seed], size, batches, engine.federation, masks
        )
        models.append(reference.flat(module))
    return models


@EVERY_MODEL
def test_same_weights_as_the_plain_loop(name: str) -> None:
    """Ragged clients (8, 5, 3, 8 examples, batches of 4), m < M. More rounds: in the tests below."""
    engine = tiny_engine(name, tiny_clients(name, dtype=torch.float64))
    segment = run(engine, fixed(1, 2))
    for seed in range(2):
        torch.testing.assert_close(segment.final[seed], plain(engine, seed, 1, [0, 1, 2, 3])[-1], **EXACT)


@pytest.mark.parametrize("clients_per_round", [2, pytest.param(4, marks=pytest.mark.second)])
@pytest.mark.parametrize("name", ["logistic", "cnn28"])
def test_nearly_the_same_weights_in_float32(name: str, clients_per_round: int) -> None:
    """Where a maximum was flipped, some weights differ by a step; m < M and m = M, three rounds."""
    engine = tiny_engine(name, clients_per_round=clients_per_round)
    segment = run(engine, fixed(3, 2))
    for seed in range(2):
        slow = plain(engine, seed, 3, [0, 1, 2, 3])[-1]
        assert torch.isclose(segment.final[seed], slow, **CLOSE).double().mean() > 0.999


@pytest.mark.parametrize(
    "changes",
    [
        {"clip": 0.5},
        {"momentum": 0.0},
        {"batch_size": 3},
        {"local_steps": 7},
        {"batch_size": 8},
        {"weight_decay": 0.3},
        {"clients_per_round": 4},
    ],
)
@pytest.mark.parametrize("name", ["logistic", "cnn28_narrow"])
def test_same_weights_under_every_setting(name: str, changes: dict[str, float]) -> None:
    engine = tiny_engine(name, tiny_clients(name, dtype=torch.float64), **changes)
    segment = run(engine, fixed(2, 2))
    for seed in range(2):
        torch.testing.assert_close(segment.final[seed], plain(engine, seed, 2, [0, 1, 2, 3])[-1], **EXACT)


def test_forgotten_clients_take_no_part() -> None:
    engine = tiny_engine()
    available = torch.tensor([[True, False, True, True], [False, True, True, False]])
    segment = run(engine, fixed(4, 2), available)
    assert set(segment.trace.cohort[0].flatten().tolist()) <= {0, 2, 3}
    assert set(segment.trace.cohort[1].flatten().tolist()) == {1, 2}
    for seed, remaining in enumerate(([0, 2, 3], [1, 2])):
        torch.testing.assert_close(segment.final[seed], plain(engine, seed, 4, remaining)[-1], **CLOSE)


def test_fewer_clients_than_a_cohort_and_none_at_all() -> None:
    engine = tiny_engine(clients_per_round=3)
    available = torch.tensor([[False, True, False, False], [False, False, False, False]])
    segment = run(engine, fixed(2, 2), available)
    assert segment.trace.cohort.tolist() == [[[1, -1, -1]] * 2, [[-1, -1, -1]] * 2]
    torch.testing.assert_close(segment.final[0], plain(engine, 0, 2, [1])[-1], **CLOSE)
    assert torch.equal(segment.final[1], segment.start[1])
    assert count_work(segment, 3).client_steps.tolist() == [6, 0]


def test_seeds_stop_at_different_rounds_and_are_frozen() -> None:
    engine = tiny_engine()
    segment = run(engine, Stop(None, 0, torch.tensor([5, 2])))
    assert segment.rounds.tolist() == [5, 2]
    for seed, rounds in ((0, 5), (1, 2)):
        torch.testing.assert_close(segment.final[seed], plain(engine, seed, rounds, [0, 1, 2, 3])[-1], **CLOSE)


@pytest.mark.parametrize("name", ["logistic", "cnn28_narrow"])
def test_a_seed_alone_is_the_seed_in_a_block(name: str) -> None:
    """On the CPU to the last bit, weights and traces, with seeds that are dropped from the batch one by one."""
    clients = tiny_clients(name, seeds=5)
    stop = Stop(None, 0, torch.tensor([4, 2, 5, 3, 1]))
    block = run(tiny_engine(name, clients), stop)
    for s in range(5):
        own = Clients(clients.images[s : s + 1], clients.labels[s : s + 1], clients.size[s : s + 1])
        alone = run(tiny_engine(name, own), Stop(None, 0, stop.max_rounds[s : s + 1]), seeds=range(s, s + 1))
        assert torch.equal(alone.final[0], block.final[s])
        assert torch.equal(alone.trace.cohort[0], block.trace.cohort[s, : int(stop.max_rounds[s])])
        assert torch.equal(alone.trace.distance[0], block.trace.distance[s, : int(stop.max_rounds[s])])


@pytest.mark.parametrize("name", ["logistic", "cnn28_narrow"])
def test_padding_changes_nothing(name: str) -> None:
    """More room for examples, filled with NaN, and one more client of NaN that is not available."""
    clients = tiny_clients(name)
    seeds, count, longest = clients.labels.shape
    images = torch.full((seeds, count + 1, longest + 3, *clients.images.shape[3:]), torch.nan)
    labels = torch.zeros(seeds, count + 1, longest + 3, dtype=torch.int64)
    size = torch.full((seeds, count + 1), longest + 3)
    images[:, :count, :longest] = torch.where(clients.real()[..., None, None, None], clients.images, torch.nan)
    labels[:, :count, :longest], size[:, :count] = clients.labels, clients.size
    available = torch.arange(count + 1).expand(seeds, -1) < count
    padded = run(tiny_engine(name, Clients(images, labels, size)), fixed(3, 2), available)
    torch.testing.assert_close(padded.final, run(tiny_engine(name, clients), fixed(3, 2)).final, **CLOSE)


def test_divergence_is_an_outcome() -> None:
    clients = tiny_clients(seeds=3)
    broken = clients.images.clone()
    broken[1] *= 1e30
    segment = run(tiny_engine(clients=replace(clients, images=broken)), Stop(0.999, 5, torch.full((3,), 6)))
    healthy = run(tiny_engine(clients=clients), Stop(0.999, 5, torch.full((3,), 6)))
    assert segment.status[1] == Status.DIVERGED
    assert int(segment.rounds[1]) < 6
    assert segment.final[1].isfinite().all(), "the last finite weights are kept"
    for seed in (0, 2):
        assert segment.status[seed] == healthy.status[seed] != Status.DIVERGED
        assert torch.equal(segment.final[seed], healthy.final[seed])


@pytest.mark.parametrize(("factor", "status"), [(1e25, Status.DIVERGED), (1e15, Status.NOT_REACHED)])
def test_a_model_whose_norms_overflow_has_diverged(tmp_path: Path, factor: float, status: Status) -> None:
    """Weights of 1e25 are finite in float32, their squares are not; what was recorded can be read again."""
    clients = tiny_clients(seeds=1)
    engine = replace(tiny_engine(clients=clients), federation=replace(tiny_engine().federation, client_lr=factor))
    segment = run(engine, Stop(2.0, 5, torch.full((1,), 3)))
    assert segment.status == (status,)
    path = tmp_path / "history.safetensors"
    write_segment(path, segment, provenance("train", {}, "code", "cpu"))
    assert tuple(read_history(path).segment.status) == (status,)


def test_target_stops_after_min_rounds_and_says_so() -> None:
    """Full batches of one easy class each: the target is reached early, but not before min_rounds."""
    clients = tiny_clients()
    clients.labels[:] = 0
    done = run(tiny_engine(clients=clients), Stop(0.5, 7, torch.full((2,), 50)))
    assert done.rounds.tolist() == [7, 7]
    assert done.status == (Status.DONE, Status.DONE)
    missed = run(tiny_engine(clients=tiny_clients()), Stop(1.0, 0, torch.full((2,), 1)))
    assert missed.rounds.tolist() == [1, 1]
    assert missed.status == (Status.NOT_REACHED, Status.NOT_REACHED)


def test_accuracy_counts_against_one_example_at_a_time() -> None:
    engine = tiny_engine("cnn28")
    weights = engine.model.init(Keys.of(range(2)))
    correct = engine.evaluator.correct(weights, torch.arange(2))
    for s in range(2):
        module = reference.load_flat(engine.model.module, weights[s])
        for c in range(4):
            size = int(engine.clients.size[s, c])
            images, labels = engine.clients.images[s, c, :size], engine.clients.labels[s, c, :size]
            assert int(correct[s, c]) == reference.correct_answers(module, images, labels)


@EVERY_MODEL
def test_batched_evaluation_counts_the_same(name: str) -> None:
    engine = tiny_engine(name)
    weights = engine.model.init(Keys.of(range(2)))
    batched = Evaluator(engine.model, engine.clients, None).correct(weights, torch.arange(2))
    assert torch.equal(batched, engine.evaluator.correct(weights, torch.arange(2)))


def test_evaluations_record_retain_and_forget_accuracy() -> None:
    engine = tiny_engine()
    available = torch.tensor([[True, True, False, True]] * 2)
    segment = run(engine, fixed(2, 2), available)
    last = [entry for entry in segment.evaluations if entry.round == 2]
    correct = engine.evaluator.correct(segment.final, torch.arange(2))
    for entry in last:
        counts = correct[entry.seed_row].tolist()
        assert entry.retain_accuracy == pytest.approx((counts[0] + counts[1] + counts[3]) / (8 + 5 + 8))
        assert entry.forget_accuracy == pytest.approx(counts[2] / 3)
    with_everyone = run(engine, fixed(2, 2))
    assert all(entry.forget_accuracy is None for entry in with_everyone.evaluations)


def test_a_budget_too_small_for_a_round() -> None:
    segment = run(tiny_engine(), Stop.at_budget(torch.tensor([5, 12]), torch.tensor([6, 6])))
    assert segment.rounds.tolist() == [0, 2]
    assert torch.equal(segment.final[0], segment.start[0])
    none = run(tiny_engine(), fixed(0, 2))
    assert none.trace.layer_norm.shape == (2, 0, 2, 2)
    assert torch.equal(none.final, none.start)
    assert count_work(none, 3).client_steps.tolist() == [0, 0]


def test_finished_seeds_may_stay_in_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where a batch shrinks rarely: finished seeds are computed too, and do not change."""
    stop = Stop(None, 0, torch.tensor([9, 2, 30, 25, 1]))
    engine = tiny_engine(clients=tiny_clients(seeds=5))
    dropped = run(engine, stop)
    monkeypatch.setattr("sifu.federation.training._DROP_SHARE", 0.9)
    batched = Engine(engine.model, engine.clients, engine.federation, None)
    together = run(batched, stop)
    assert together.rounds.tolist() == dropped.rounds.tolist()
    torch.testing.assert_close(together.final, dropped.final, **CLOSE)
    for s, rounds in enumerate(stop.max_rounds.tolist()):
        assert torch.equal(together.trace.cohort[s, :rounds], dropped.trace.cohort[s, :rounds])


STOPS = {
    "budgets": Stop(None, 0, torch.tensor([9, 0, 30, 25, 1])),
    "target": Stop(0.9, 2, torch.full((5,), 40)),
    "diverged": Stop(0.999, 5, torch.full((5,), 6)),
}


@pytest.mark.parametrize("stop", STOPS.values(), ids=list(STOPS))
@pytest.mark.parametrize("batched", [False, True])
def test_a_round_begun_before_the_evaluation_is_undone(
    stop: Stop, batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, where accuracy is computed during the next round: the same bits as waiting for it."""
    clients = tiny_clients(seeds=5)
    if stop is STOPS["diverged"]:
        clients.images[1] *= 1e30
    engine = tiny_engine(clients=clients)
    if batched:
        engine = replace(engine, workers=None)
    waited = run(engine, stop)
    assert len(set(waited.rounds.tolist())) > 1 or stop is STOPS["diverged"]
    monkeypatch.setattr("sifu.federation.training.runs_ahead", lambda device: True)
    ahead = run(engine, stop)
    assert ahead.rounds.tolist() == waited.rounds.tolist()
    assert (ahead.status, ahead.evaluations) == (waited.status, waited.evaluations)
    assert torch.equal(ahead.final, waited.final)
    for name, part in vars(waited.trace).items():
        assert torch.equal(getattr(ahead.trace, name), part), name
    for kept in range(waited.snapshots.shape[1]):
        own = waited.rounds >= 2 * (kept + 1)  # a snapshot every 2 rounds
        assert torch.equal(ahead.snapshots[own, kept], waited.snapshots[own, kept])


def test_work_is_counted() -> None:
    """2 clients x 3 steps a round; each client receives and sends 7,850 floats."""
    work = count_work(run(tiny_engine(), Stop(None, 0, torch.tensor([5, 2]))), local_steps=3)
    assert work.client_steps.tolist() == [30, 12]
    assert work.comm_floats.tolist() == [5 * 2 * 2 * 7850, 2 * 2 * 2 * 7850]
