"""All local trainers agree, and their draws are those of the plain loop."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sifu.config.federation import Federation
from sifu.config.optimiser import own_sgd
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.cohort import cohort_sizes, cohort_weights, sample_cohort
from sifu.federation.engine import Engine
from sifu.federation.local import local_trainer
from sifu.federation.local.batches import Batcher
from sifu.federation.local.dual import DualTrainer
from sifu.federation.local.guided import GuidedTrainer
from sifu.federation.local.loss import CrossEntropy
from sifu.federation.local.pooled import PooledTrainer
from sifu.federation.local.vmapped import VmappedTrainer
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel
from tests import reference
from tests.conftest import tiny_clients, tiny_engine, tiny_federation
from tests.networks import Various, each_model

COHORT = torch.tensor([[0, 2, 3], [1, 2, -1]])
ROUNDS = torch.tensor([4, 9])


def results(name: str, **changes: object) -> dict[str, torch.Tensor]:
    """The same round by every trainer that fits the model."""
    engine = tiny_engine(name, tiny_clients(name, dtype=torch.float64), **changes)
    model, clients, federation, workers = engine.model, engine.clients, engine.federation, engine.workers
    assert workers is not None
    keys = Keys.of(range(2))
    sizes = clients.size.gather(1, COHORT.clamp(min=0)).where(COHORT >= 0, 0)
    batches = engine.batcher.draw(keys, ROUNDS, COHORT, sizes)
    trainers = {
        "pooled": PooledTrainer(model, clients, federation, workers),
        "vmapped": VmappedTrainer(model, clients, federation),
    }
    sgd = own_sgd(federation)
    trainers |= {f"guided, {w}": GuidedTrainer(model, clients, sgd, CrossEntropy(), w) for w in (workers, None)}
    if name == "logistic":
        trainers |= {f"dual, {w}": DualTrainer(model, clients, federation, w) for w in (workers, None)}
    start = model.init(keys).double()
    return {key: train(start, torch.arange(2), COHORT, batches) for key, train in trainers.items()}


# another network takes the same steps: clipping and full batches are shown on the smallest
@pytest.mark.parametrize(
    ("name", "changes"),
    each_model({})
    + [(name, changes) for name in ("logistic", "cnn28_narrow") for changes in ({"clip": 0.1}, {"batch_size": 8})],
    ids=str,
)
def test_all_trainers_agree(name: str, changes: dict[str, float]) -> None:
    by_trainer = results(name, **changes)
    for key, local in by_trainer.items():
        assert float((local - by_trainer["pooled"]).abs().max()) < 1e-12, key
    moved = (by_trainer["pooled"] - tiny_engine(name).model.init(Keys.of(range(2))).unsqueeze(1)).norm(dim=-1)
    assert (moved[COHORT >= 0] > 1e-3).all()
    assert float(moved[1, 2]) == 0, "an empty place keeps the weights"


def test_dropout_and_normalisation_as_in_the_plain_loop() -> None:
    """A network with every kind of layer, by both trainers and by the plain loop: the same masks, the same steps."""
    model, federation = FlatModel(Various((1, 28, 28), 10).double()), tiny_federation()
    clients = tiny_clients("cnn28", dtype=torch.float64)
    engine = Engine(model, clients, federation, Workers(2))
    keys = Keys.of(range(2))
    batches = engine.batcher.draw(keys, ROUNDS, COHORT, cohort_sizes(COHORT, clients.size))
    start = model.init(keys).double()
    pooled, vmapped = (
        train(start, torch.arange(2), COHORT, batches)
        for train in (engine.trainer, VmappedTrainer(model, clients, federation))
    )
    torch.testing.assert_close(vmapped, pooled, rtol=0, atol=1e-12)
    for row, place, client in ((0, 0, 0), (0, 2, 3), (1, 0, 1)):
        key, number, size = keys.rows(row), int(ROUNDS[row]), int(clients.size[row, client])
        rows = reference.client_batches(key, number, client, size, federation)
        local = reference.train_client(
            reference.load_flat(model.module, start[row]).train(),
            clients.images[row, client, :size],
            clients.labels[row, client, :size],
            rows,
            federation,
            key.fold("dropout", number, client),
        )
        torch.testing.assert_close(pooled[row, place], reference.flat(local), rtol=0, atol=1e-12)


def test_a_model_that_explodes_stays_finite_where_it_is_clipped() -> None:
    """As in the released code's example: a norm that no training comes near. Without it the weights overflow."""
    start = 20 * tiny_engine("cnn_celeba").model.init(Keys.of(range(2)))  # 4 layers: an output 160,000 times as large

    def trained(clip: float | None) -> torch.Tensor:
        engine = tiny_engine("cnn_celeba", tiny_clients("cnn_celeba"), local_steps=10, client_lr=0.02, clip=clip)
        batches = engine.batcher.draw(Keys.of(range(2)), ROUNDS, COHORT, cohort_sizes(COHORT, engine.clients.size))
        return engine.trainer(start, torch.arange(2), COHORT, batches)

    assert not trained(None)[COHORT >= 0].isfinite().any(dim=-1).all()
    clipped = trained(1e4)
    assert clipped.isfinite().all()
    assert (clipped - start.unsqueeze(1))[COHORT >= 0].norm(dim=-1).min() > 100  # a step moves by 0.02 of 10,000


def test_dropout_is_off_where_it_is_counted_who_is_right() -> None:
    engine = Engine(FlatModel(Various((1, 28, 28), 10)), tiny_clients("cnn28"), tiny_federation(), Workers(2))
    weights = engine.model.init(Keys.of(range(2)))
    first, again = (engine.evaluator.correct(weights, torch.arange(2)) for _ in range(2))
    assert torch.equal(first, again)
    module = reference.load_flat(engine.model.module, weights[0]).eval()
    data = engine.clients
    for client, size in enumerate(data.size[0].tolist()):
        expected = reference.correct_answers(module, data.images[0, client, :size], data.labels[0, client, :size])
        assert int(first[0, client]) == expected


def test_the_fastest_trainer_is_chosen() -> None:
    for name, on_cpu, on_gpu in (("logistic", DualTrainer, DualTrainer), ("cnn28", PooledTrainer, VmappedTrainer)):
        engine = tiny_engine(name)
        assert isinstance(local_trainer(engine.model, engine.clients, engine.federation, engine.workers), on_cpu)
        assert isinstance(local_trainer(engine.model, engine.clients, engine.federation, None), on_gpu)


def test_a_large_client_is_not_trained_in_the_dual() -> None:
    clients = tiny_clients(seeds=1, sizes=(600,))
    assert not DualTrainer.fits(tiny_engine(clients=clients).model, clients)


def batcher_of(federation: Federation, size: int) -> Batcher:
    """For clients of `size` and, in the rows of others, two examples of padding."""
    nothing = torch.zeros(1, 1, size + 2, 1, 1, 1)
    return Batcher.of(Clients(nothing, nothing[..., 0, 0, 0].long(), torch.tensor([[size]])), federation)


@given(st.integers(0, 10**9), st.integers(1, 30), st.integers(1, 9), st.integers(1, 12), st.booleans())
def test_batches_are_those_of_the_plain_loop(seed: int, size: int, batch: int, steps: int, fresh: bool) -> None:
    federation = tiny_federation(batch_size=batch, local_steps=steps, batches="fresh" if fresh else "epochs")
    longest = size + 2
    batcher = batcher_of(federation, size)
    drawn = batcher.draw(Keys.of([seed]), torch.tensor([6]), torch.tensor([[3]]), torch.tensor([[size]]))
    expected = reference.client_batches(Keys.of([seed]).rows(0), 6, 3, size, federation)
    count = int(drawn.count)
    assert count == min(size, batch)
    assert torch.equal(drawn.index[0, 0, :, :count], expected)
    assert drawn.index.max() < size
    torch.testing.assert_close(drawn.weight(torch.float32).sum(-1), torch.ones(1, 1, steps))
    torch.testing.assert_close(drawn.dense(longest, torch.float32).sum(-1), torch.ones(1, 1, steps))


@given(st.integers(0, 10**9), st.integers(1, 25))
def test_an_epoch_sees_every_example_once(seed: int, batches: int) -> None:
    """size = batches x 4, as many steps: one epoch exactly."""
    federation = tiny_federation(batch_size=4, local_steps=batches)
    nothing = torch.zeros(1, 1, dtype=torch.int64)
    drawn = batcher_of(federation, 4 * batches).draw(Keys.of([seed]), nothing[0], nothing, nothing + 4 * batches)
    assert sorted(drawn.index.flatten().tolist()) == list(range(4 * batches))


def test_fresh_batches_are_drawn_from_all_examples() -> None:
    """Two of four, 6,000 times: none twice in a batch; two steps take the same two in 1 of 6 cases, epochs never do."""
    seeds, nothing = 6000, torch.zeros(6000, 1, dtype=torch.int64)
    alike = {}
    for name in ("fresh", "epochs"):
        federation = tiny_federation(batch_size=2, local_steps=2, batches=name)
        drawn = batcher_of(federation, 4).draw(Keys.of(range(seeds)), nothing[:, 0], nothing, nothing + 4)
        index = drawn.index[:, 0].sort(-1).values  # [6000, 2, 2]
        assert (index[..., 0] < index[..., 1]).all()
        alike[name] = float((index[:, 0] == index[:, 1]).all(-1).double().mean())
        counts = index.flatten().bincount()
        assert counts.tolist() == pytest.approx([seeds] * 4, abs=5 * (seeds / 2) ** 0.5)
    assert alike["epochs"] == 0
    assert alike["fresh"] == pytest.approx(1 / 6, abs=5 * (5 / 36 / seeds) ** 0.5)


@given(st.integers(0, 10**9), st.sets(st.integers(0, 19), min_size=1), st.integers(1, 8), st.integers(0, 100))
def test_cohorts_are_those_of_the_plain_loop(seed: int, available: set[int], count: int, number: int) -> None:
    mask = torch.zeros(1, 20, dtype=torch.bool)
    mask[0, sorted(available)] = True
    cohort = sample_cohort(Keys.of([seed]), torch.tensor([number]), mask, count)[0].tolist()
    expected = reference.sample_clients(Keys.of([seed]).rows(0), number, sorted(available), count)
    assert cohort == expected + [-1] * (count - len(expected))


@given(st.integers(0, 10**9), st.integers(0, 19))
def test_a_forgotten_client_changes_only_its_own_place(seed: int, forgotten: int) -> None:
    everyone = torch.ones(1, 20, dtype=torch.bool)
    rest = everyone.clone()
    rest[0, forgotten] = False
    before, after = (
        set(sample_cohort(Keys.of([seed]), torch.tensor([0]), mask, 5)[0].tolist()) for mask in (everyone, rest)
    )
    assert before - {forgotten} <= after
    assert len(after - before) == (forgotten in before)


def test_sampling_is_fair() -> None:
    """4,000 rounds of 5 out of 20: each client 1,000 times, standard deviation sqrt(4000 x 0.25 x 0.75) = 27."""
    keys = Keys(Keys.of([0]).state.expand(4000))
    cohort = sample_cohort(keys, torch.arange(4000), torch.ones(4000, 20, dtype=torch.bool), 5)
    counts = cohort.flatten().bincount(minlength=20)
    assert int((counts - 1000).abs().max()) < 5 * 27


def test_weights_are_shares_of_the_cohorts_examples() -> None:
    sizes = cohort_sizes(torch.tensor([[0, 2], [1, -1], [-1, -1]]), torch.tensor([[10, 5, 30]] * 3))
    weights = cohort_weights(sizes, torch.float32)
    assert weights.tolist() == [[0.25, 0.75], [1.0, 0.0], [0.0, 0.0]]
