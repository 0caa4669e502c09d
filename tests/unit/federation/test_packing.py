"""Several tasks in one batch give the same results as alone."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.packing import Runner, run_together
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from tests.conftest import tiny_engine

Task = Callable[[Runner], list[Segment]]


def task(engine: Engine, number: int, rounds: list[int], target: float | None = None) -> Task:
    """One training per entry of `rounds`, each from the end of the one before, without client `number`."""
    keys = Keys.of(range(engine.clients.num_seeds))
    remain = torch.ones_like(engine.clients.size, dtype=torch.bool)
    remain[:, number] = False

    def work(run: Runner) -> list[Segment]:
        weights, segments = engine.model.init(keys), []
        for place, count in enumerate(rounds):
            stop = Stop(target, 0, torch.tensor([count, count + 1]))
            segments.append(run(weights, remain, keys.fold(number, place), stop, snapshot_every=2))
            weights = segments[-1].final
        return segments

    return work


@pytest.fixture(params=["workers", "batched"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """As on a CPU, and all in one batch as on a GPU."""
    engine = tiny_engine("logistic")
    return engine if request.param == "workers" else replace(engine, workers=None)


def same(a: Segment, b: Segment, rounding: float) -> None:
    for name in ("start", "final", "rounds", "available", "key_state", "snapshots"):
        torch.testing.assert_close(getattr(a, name), getattr(b, name), rtol=rounding, atol=rounding)
    longest = int(a.rounds.max())
    own = torch.arange(longest) < a.rounds[:, None]  # the rest is padding
    for name in vars(a.trace):
        first, second = (getattr(segment.trace, name)[:, :longest][own] for segment in (a, b))
        torch.testing.assert_close(first, second, rtol=rounding, atol=rounding)
    assert (a.status, a.evaluations, a.snapshot_every) == (b.status, b.evaluations, b.snapshot_every)


@pytest.mark.parametrize("max_tasks", [2, 3, 10])
def test_packed_trainings_are_the_same_as_alone(engine: Engine, max_tasks: int) -> None:
    """With different lengths, numbers of trainings and stop rules."""
    tasks = [
        task(engine, 0, [3, 5]),
        task(engine, 1, [4]),
        task(engine, 2, [2, 2, 6], target=0.99),
        task(engine, 3, []),
        task(engine, 3, [1, 0, 2]),
    ]
    alone, packed = run_together(engine, tasks, 1), run_together(engine, tasks, max_tasks)
    assert [len(segments) for segments in packed] == [2, 1, 3, 0, 3]
    for segments_alone, segments_packed in zip(alone, packed, strict=True):
        for a, b in zip(segments_alone, segments_packed, strict=True):
            same(a, b, 0.0 if engine.workers is not None else 1e-5)


def test_fewer_runs_than_trainings(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tasks of two trainings each are two runs of three tasks' rows."""
    sizes: list[int] = []
    run = Engine.run

    def counted(self: Engine, start: torch.Tensor, *args: object, **options: object) -> Segment:
        sizes.append(len(start))
        return run(self, start, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "run", counted)
    run_together(engine, [task(engine, number, [2, 1]) for number in range(3)], 3)
    assert sizes == [3 * engine.clients.num_seeds] * 2


def test_an_error_of_a_task_is_raised_and_the_others_end(engine: Engine) -> None:
    def fails(run: Runner) -> list[Segment]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_together(engine, [task(engine, 0, [2, 2]), fails, task(engine, 1, [3])], 3)


def test_an_error_of_the_engine_reaches_every_task(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **options: object) -> Segment:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Engine, "run", fails)
    with pytest.raises(RuntimeError, match="out of memory"):
        run_together(engine, [task(engine, number, [2]) for number in range(2)], 2)


def test_after_an_error_nothing_is_trained(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(run: Runner) -> list[Segment]:
        raise ValueError("no")

    def never(*args: object, **options: object) -> Segment:
        raise AssertionError("trained after an error")

    monkeypatch.setattr(Engine, "run", never)
    with pytest.raises(ValueError, match="no"):
        run_together(engine, [fails, task(engine, 0, [2])], 2)


def test_a_training_is_freed_with_its_last_reference() -> None:
    """A reference cycle with a recording would keep data and snapshots until the next garbage collection."""
    engine = tiny_engine("logistic")
    gc.disable()
    try:
        task(engine, 0, [3])(engine.run)
        gone = weakref.ref(engine.clients)
        del engine
        assert gone() is None
    finally:
        gc.enable()
