"""Rounds that two trainings have are trained once, and both have the bits of trainings alone."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

from sifu.config.federation import Target
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.shared_rounds import SharedRounds
from sifu.federation.stop import Stop
from sifu.federation.training import Training
from tests.conftest import tiny_engine


def rounds(*numbers: int) -> Stop:
    return Stop(None, 0, torch.tensor(numbers))


TARGET = Stop(2.0, 0, torch.tensor([70, 65]))  # is never reached: evaluated at other rounds than a budget is


REACHED = Target(accuracy=0.97, min_rounds=3, max_rounds=400)


def train(engine: Engine, stop: Stop, key: str = "train", scale: float = 1.0) -> Segment:
    keys = Keys.of(range(2))
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    return engine.run(engine.model.init(keys) * scale, everyone, keys.fold(key), stop, snapshot_every=8)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each round that is trained."""
    log: list[int] = []
    one_round = Training._train

    def counted(self: Training) -> None:
        log.append(self.count)
        one_round(self)

    monkeypatch.setattr(Training, "_train", counted)
    return log


def assert_same(first: Segment, second: Segment) -> None:
    for part in fields(Segment):
        one, other = getattr(first, part.name), getattr(second, part.name)
        if part.name == "trace":
            assert all(map(torch.equal, vars(one).values(), vars(other).values()))
        else:
            assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other, part.name


@pytest.mark.parametrize(
    "change", [{}, pytest.param({"sampling": "poisson"}, marks=pytest.mark.second)], ids=["fixed", "poisson"]
)
def test_a_budget_has_the_bits_of_a_training_alone(trained: list[int], change: dict[str, object]) -> None:
    """After 65 and 70 rounds of the target: 64 are shared with a budget of 66 and 90; 40 with one of 41 and 47."""
    plain = tiny_engine(**change)
    engine = replace(plain, shared=SharedRounds())
    train(engine, TARGET)
    for stop, first in ((rounds(66, 90), 64), (rounds(41, 47), 40), (rounds(48, 48), 48), (rounds(5, 90), 0)):
        alone = train(plain, stop)
        trained.clear()
        assert_same(train(engine, stop), alone)
        assert (trained[0] if trained else int(stop.max_rounds.max())) == first


@pytest.mark.parametrize("schedule", ["close", "released"])
def test_a_budget_that_ends_at_the_target_has_the_bits_of_a_training_alone(trained: list[int], schedule: str) -> None:
    """The target is reached after some rounds; a budget allows fewer, more, and fewer for one of two seeds."""
    plain = tiny_engine(client_lr=0.0002)
    engine = replace(plain, shared=SharedRounds())
    steps = torch.ones(2, dtype=torch.int64)
    whole = train(engine, replace(Stop.at_target(REACHED, 2), schedule=schedule))
    ends = whole.rounds.tolist()
    assert whole.status == (Status.DONE,) * 2
    assert min(ends) > 10
    assert len(set(ends)) == 2, "the seeds end after different rounds"
    for budget in ((9, 17), (500, 500), (min(ends) - 1, max(ends) + 30)):
        stop = Stop.at_budget(torch.tensor(budget), steps, replace(REACHED, schedule=schedule))
        alone = train(plain, stop)
        assert alone.status == (Status.DONE,) * 2, "a budget that is spent is done"
        assert alone.rounds.tolist() == [min(pair) for pair in zip(ends, budget, strict=True)]
        trained.clear()
        assert_same(train(engine, stop), alone)
        assert (trained[0] if trained else min(ends)) == min(*ends, *budget) // 8 * 8


def test_the_longer_training_is_kept(trained: list[int]) -> None:
    engine = replace(tiny_engine(), shared=SharedRounds())
    for stop in (rounds(20, 20), rounds(60, 60), rounds(30, 30)):
        train(engine, stop)
    trained.clear()
    assert_same(train(engine, rounds(80, 80)), train(tiny_engine(), rounds(80, 80)))
    assert trained[0] == 56


@pytest.mark.parametrize(
    "other", [{"key": "another"}, {"scale": 0.5}, {"stop": Stop(0.2, 0, torch.tensor([30, 30]))}], ids=str
)
def test_another_training_starts_anew(trained: list[int], other: dict[str, object]) -> None:
    engine = replace(tiny_engine(), shared=SharedRounds())
    train(engine, rounds(40, 40))
    trained.clear()
    options = {"stop": rounds(40, 40)} | other
    assert_same(train(engine, **options), train(tiny_engine(), **options))  # type: ignore[arg-type]
    assert trained[0] == 0


def test_a_training_that_diverged_is_not_shared() -> None:
    plain = tiny_engine(client_lr=1e38)
    engine = replace(plain, shared=SharedRounds())
    assert train(engine, rounds(40, 40)).status == (Status.DIVERGED,) * 2
    assert_same(train(engine, rounds(20, 20)), train(plain, rounds(20, 20)))


def test_few_models_are_kept(trained: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models of a training after 40 rounds; the training that began first is dropped for the next."""
    engine = replace(tiny_engine(), shared=SharedRounds())
    model = 2 * engine.model.num_weights * 4  # bytes
    monkeypatch.setattr("sifu.federation.shared_rounds._MAX_BYTES", 3 * model)
    for key in ("first", "second"):
        train(engine, rounds(40, 40), key)
    for key, first in (("second", 40), ("first", 0)):
        trained.clear()
        train(engine, rounds(41, 41), key)
        assert trained[0] == first
