"""The engine on a GPU compared with the CPU. Run with `pytest -m gpu` on a machine that has one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from sifu.catalog.datasets import DATASETS
from sifu.catalog.models import MODELS
from sifu.config.federation import Privacy
from sifu.config.optimiser import CURVATURES, Adaptive
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.shared_rounds import SharedRounds
from sifu.federation.stop import Stop
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel, build_model
from tests.conftest import DATASET_OF, tiny_clients, tiny_federation
from tests.networks import Various

OWN = "various"  # tests/networks.py: a network from elsewhere, with dropout and normalisation
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def train(name: str, clients: Clients, stop: Stop, device: str, **changes: object) -> tuple[Engine, Segment]:
    model = FlatModel(Various((1, 28, 28), 10)) if name == OWN else build_model(name, DATASETS[DATASET_OF[name]])
    model.module.to(device, clients.images.dtype)
    workers = Workers(2) if device == "cpu" else None
    engine = Engine(model, clients.to(torch.device(device)), tiny_federation(**changes), workers)
    keys = Keys.of(range(clients.num_seeds), device)
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    start = model.init(keys).to(clients.images.dtype)
    return engine, engine.run(start, everyone, keys.fold("train"), stop, snapshot_every=2)


PRIVATE = {"sampling": "poisson", "privacy": Privacy(update_clip=0.1, noise=0.01)}


@pytest.mark.parametrize(
    "changes",
    [{}, {"clip": 0.5}, {"batch_size": 8}, {"weight_decay": 0.3}, PRIVATE],
    ids=["plain", "clip", "full batch", "weight decay", "private"],
)
@pytest.mark.parametrize("name", list(MODELS))
def test_same_weights_as_the_cpu(name: str, changes: dict[str, object]) -> None:
    """In float64: the same draws to the bit, the same weights to the order of sums."""
    clients = tiny_clients(name, dtype=torch.float64)
    stop = Stop(None, 0, torch.tensor([4, 2]))
    (_, cpu), (_, gpu) = (train(name, clients, stop, device, **changes) for device in ("cpu", "cuda"))
    assert torch.equal(cpu.start, gpu.start)
    assert torch.equal(cpu.trace.cohort[0], gpu.trace.cohort[0])
    torch.testing.assert_close(gpu.final, cpu.final, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(gpu.trace.distance[0], cpu.trace.distance[0], rtol=1e-6, atol=1e-8)
    assert [entry[:2] for entry in gpu.evaluations] == [entry[:2] for entry in cpu.evaluations]


@pytest.mark.parametrize("name", ["logistic", "cnn28", OWN])
def test_shared_rounds_have_the_bits_of_a_training_alone(name: str) -> None:
    """A budget of 45 rounds after a training of 50 goes on from the snapshot after 44, and is evaluated as alone."""
    clients = tiny_clients("cnn28" if name == OWN else name)
    engine, _ = train(name, clients, Stop(None, 0, torch.tensor([0, 0])), "cuda")
    sharing, keys = replace(engine, shared=SharedRounds()), Keys.of(range(clients.num_seeds), "cuda")
    everyone, start = torch.ones_like(engine.clients.size, dtype=torch.bool), engine.model.init(keys)

    def run(one: Engine, *rounds: int) -> Segment:
        return one.run(start, everyone, keys.fold("train"), Stop(None, 0, torch.tensor(rounds)), snapshot_every=2)

    run(sharing, 50, 50)
    shared, alone = run(sharing, 45, 47), run(engine, 45, 47)
    assert torch.equal(shared.final, alone.final)
    assert torch.equal(shared.snapshots, alone.snapshots)
    assert shared.evaluations == alone.evaluations
    assert all(map(torch.equal, vars(shared.trace).values(), vars(alone.trace).values()))


@pytest.mark.parametrize("name", ["logistic", "cnn28"])
def test_replay_on_the_gpu(name: str) -> None:
    """In float64: replayed seeds are in another batch, which changes only the order of sums."""
    clients = tiny_clients(name, dtype=torch.float64)
    engine, segment = train(name, clients, Stop(None, 0, torch.tensor([5, 3])), "cuda")
    again = engine.replay(segment, segment.rounds)
    torch.testing.assert_close(again.cpu(), segment.final, rtol=1e-8, atol=1e-10)


NETWORK = ["cnn28", "cnn32", "resnet8", OWN]  # with kernels of its own, or of its layers


@pytest.mark.parametrize("changes", [{}, {"clip": 0.5}, PRIVATE], ids=["plain", "clip", "private"])
@pytest.mark.parametrize("name", NETWORK)
def test_a_round_has_the_same_bits_in_any_batch(name: str, changes: dict[str, object]) -> None:
    """With TF32, as in trainings: it amplifies a difference in the last bit, and a replay would drift away."""
    clients = tiny_clients("cnn28" if name == OWN else name, seeds=7)
    engine, segment = train(name, clients, Stop(None, 0, torch.full((7,), 2)), "cuda", **changes)
    keys, number = Keys(segment.key_state.cuda()), torch.zeros(7, dtype=torch.int64, device="cuda")
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    all_rows = engine.round(segment.final.cuda(), torch.arange(7, device="cuda"), number, everyone, keys)
    for some in ([3], [0, 6], [1, 2, 4, 5], [6, 5, 4, 3, 2]):
        rows = torch.tensor(some, device="cuda")
        part = engine.round(segment.final[some].cuda(), rows, number[rows], everyone[rows], Keys(keys.state[rows]))
        assert torch.equal(part.local, all_rows.local[rows, : part.local.shape[1]])  # as wide as its largest cohort
        assert torch.equal(part.weights, all_rows.weights[rows])


@pytest.mark.parametrize("name", NETWORK)
def test_a_replay_has_the_bits_of_the_training(name: str) -> None:
    """Over rounds with fewer and fewer seeds; only the first snapshot is used."""
    clients = tiny_clients("cnn28" if name == OWN else name, seeds=5)
    engine, segment = train(name, clients, Stop(None, 0, torch.tensor([40, 3, 17, 29, 8])), "cuda")
    for number, rows, _, result in engine.walk(segment):
        done = rows[segment.rounds[rows] == number + 1]
        assert torch.equal(result.weights[torch.isin(rows, done)].cpu(), segment.final[done])


@pytest.mark.parametrize("name", ["resnet8", OWN])
def test_a_model_without_kernels_of_its_own_is_exact(name: str) -> None:
    """Trained with seeds that end one after another, rolled back, and replayed seed by seed: the same bits."""
    clients = tiny_clients("cnn28", seeds=3)
    engine, segment = train(name, clients, Stop(None, 0, torch.tensor([30, 11, 20])), "cuda")
    assert engine.is_exact
    sparse = replace(segment, snapshots=segment.snapshots[:, :0], snapshot_every=100)  # replays begin at the start
    for rounds in ([30, 10, 20], [8, 10, 2], [0, 0, 14]):
        back = engine.replay(sparse, torch.tensor(rounds)).cpu()
        for seed, number in enumerate(rounds):
            at = segment.snapshots[seed, number // 2 - 1] if number else segment.start[seed]
            assert torch.equal(back[seed], at)
    assert torch.equal(engine.replay(sparse, segment.rounds).cpu(), segment.final)


class Mixed(nn.Module):
    """Its weights are multiplied by a batched product of torch's, whose order of sums may depend on the models."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(784, 10))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.flatten(1) @ self.weight


def test_a_model_that_is_not_exact_keeps_every_round(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "is_exact", False)  # whether torch's product is exact depends on the device
    clients = tiny_clients("logistic", seeds=5, sizes=(40, 40, 40))
    model = FlatModel(Mixed().cuda())
    engine = Engine(model, clients.to(torch.device("cuda")), tiny_federation(batch_size=32), None)
    keys = Keys.of(range(5), "cuda")
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    segment = engine.run(model.init(keys), everyone, keys, Stop(None, 0, torch.full((5,), 12)), snapshot_every=50)
    assert segment.snapshot_every == 1
    assert "the history keeps every round (up to 0.0 GB)" in capsys.readouterr().err
    for rounds in (3, 12):
        back = engine.replay(segment, torch.full((5,), rounds)).cpu()
        assert torch.equal(back, segment.snapshots[:, rounds - 1])


def test_seeds_that_end_at_different_rounds() -> None:
    clients = tiny_clients(seeds=6)
    stop = Stop(None, 0, torch.tensor([9, 2, 30, 25, 1, 4]))
    (_, cpu), (_, gpu) = (train("logistic", clients, stop, device) for device in ("cpu", "cuda"))
    assert gpu.rounds.tolist() == stop.max_rounds.tolist()
    torch.testing.assert_close(gpu.final, cpu.final, rtol=1e-2, atol=1e-3)


def test_divergence_is_an_outcome() -> None:
    clients = tiny_clients(seeds=3)
    broken = clients.images.clone()
    broken[1] *= 1e30
    _, segment = train("logistic", replace(clients, images=broken), Stop(None, 0, torch.full((3,), 6)), "cuda")
    assert [status.value for status in segment.status] == ["done", "diverged", "done"]


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("name", ["logistic", "cnn28_narrow", OWN])
def test_other_optimisers(name: str, curvature: str) -> None:
    """A recovery by another optimiser, in double precision: the same on both, and replayed to the bit or near it."""
    clients = tiny_clients("logistic" if name == OWN else name, dtype=torch.float64)
    stop, optimiser = Stop(None, 0, torch.tensor([3, 2])), Adaptive(lr=0.01, curvature=curvature, damping=1e-3)
    finals = []
    for device in ("cpu", "cuda"):
        engine, _ = train(name, clients, Stop(None, 0, torch.tensor([0, 0])), device)
        keys = Keys.of(range(2), device)
        everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
        start = engine.model.init(keys).to(torch.float64)
        segment = engine.run(start, everyone, keys, stop, snapshot_every=2, optimiser=optimiser)
        torch.testing.assert_close(engine.replay(segment, segment.rounds).cpu(), segment.final, rtol=1e-7, atol=1e-9)
        finals.append(segment.final)
    torch.testing.assert_close(*finals, rtol=1e-5, atol=1e-7)
