"""The training without the clients of each request, made once: the truth of any node has the same bits as a replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sifu.contract.world import World, masks
from sifu.core.types import Status
from sifu.errors import StoreError
from sifu.federation.segment import Segment
from sifu.store.provenance import Provenance
from sifu.unlearning.counterfactual import truth_at
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.node import Node
from sifu.unlearning.training_without import TrainingWithout, trainings_without
from sifu.unlearning.training_without_file import read_trainings_without, write_trainings_without

STAMP = Provenance("counterfactual", "{}", "code", "device")


@pytest.fixture(scope="module")
def world() -> World:
    return World.make()


@pytest.fixture(scope="module")
def runs(world: World) -> list[TrainingWithout]:
    return trainings_without(world.lineage.engine, world.lineage.segments[0], masks(7, 3))


def forgotten_before(world: World, number: int) -> Lineage:
    """The lineage after requests that were answered without a round: the clients of the first `number` are gone."""
    lineage = world.lineage
    for clients in masks(7, 3)[:number]:
        last = lineage.segments[-1]
        none = last.part(slice(None))
        trace = type(last.trace)(*(part[:, :0] for part in vars(last.trace).values()))
        branch = replace(none, start=lineage.current.cpu(), final=lineage.current.cpu(), trace=trace)
        branch = replace(branch, rounds=torch.zeros_like(last.rounds), snapshots=last.snapshots[:, :0])
        lineage = lineage.grow(lineage.end, replace(branch, available=last.available & ~clients))
    return lineage


@pytest.mark.parametrize("request_number", [1, 2, 3])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_truth_has_the_bits_of_a_replay(
    world: World, runs: list[TrainingWithout], request_number: int, share: float
) -> None:
    lineage, clients = forgotten_before(world, request_number - 1), masks(7, 3)[request_number - 1]
    known = replace(lineage, cache=Lineage.of(lineage.engine, lineage.segments[0], runs).cache)
    rounds = (lineage.segments[0].rounds * share).long()
    node = Node(torch.zeros_like(rounds), rounds)
    for found, replayed in zip(truth_at(known, node, clients, 1.1), truth_at(lineage, node, clients, 1.1), strict=True):
        assert torch.equal(found, replayed)
    if share:
        assert float(replayed.max()) > 0


def test_known_runs_are_not_made_again(
    world: World, runs: list[TrainingWithout], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is trained but the rounds from the nearest snapshot on."""
    known = Lineage.of(world.lineage.engine, world.lineage.segments[0], runs)
    made: list[object] = []
    for name in ("branch_sensitivity.refilled_increments", "counterfactual._rounds"):
        monkeypatch.setattr(f"sifu.unlearning.{name}", lambda *arguments: made.append(arguments))
    truth_at(known, known.end, masks(7, 3)[0], 1.0)
    assert not made


def test_other_sets_are_not_known(runs: list[TrainingWithout]) -> None:
    until, others = torch.ones(3, dtype=torch.int64), runs[0].sets.unbind(1)
    assert runs[0].increments_of(others, until) is not None
    assert runs[0].increments_of(others[:1], until) is None
    assert runs[1].increments_of(others, until) is None
    assert runs[0].is_without(masks(7, 3)[0])
    assert not runs[0].is_without(masks(7, 3)[1])


def test_a_run_that_diverged_is_far_away_from_there_on(world: World, runs: list[TrainingWithout]) -> None:
    """Up to its last round it is what it was; later it is nothing."""
    whole = runs[0].segment
    ended = replace(whole, rounds=whole.rounds - 1, status=(Status.DIVERGED, *whole.status[1:]))
    short = replace(ended, rounds=torch.where(torch.arange(3) == 0, ended.rounds, whole.rounds))
    run, engine = replace(runs[0], segment=short), world.lineage.engine
    before, after = run.model(engine, short.rounds), run.model(engine, whole.rounds)
    assert torch.equal(before[0], runs[0].model(engine, short.rounds)[0])
    assert after[0].isnan().all()
    assert torch.equal(after[1:], whole.final[1:])


def stored(folder: Path, world: World, runs: list[TrainingWithout]) -> tuple[Path, Segment]:
    path, training = folder / "counterfactual.safetensors", world.lineage.segments[0]
    write_trainings_without(path, training, runs, STAMP)
    return path, training


def test_a_file_gives_back_what_was_written(tmp_path: Path, world: World, runs: list[TrainingWithout]) -> None:
    path, training = stored(tmp_path, world, runs)
    found = read_trainings_without(path, training).runs
    assert len(found) == 3
    for one, other in zip(found, runs, strict=True):
        assert torch.equal(one.sets, other.sets)
        assert torch.equal(one.increments, other.increments)
        assert torch.equal(one.segment.final, other.segment.final)
        assert one.segment.status == other.segment.status


def test_the_file_of_another_training_is_refused(tmp_path: Path, world: World, runs: list[TrainingWithout]) -> None:
    path, training = stored(tmp_path, world, runs)
    with pytest.raises(StoreError, match="of another training"):
        read_trainings_without(path, replace(training, final=training.final + 1))


@pytest.mark.parametrize("wrong", ["below", "shape"])
def test_increments_that_are_none_are_refused(
    tmp_path: Path, world: World, runs: list[TrainingWithout], wrong: str
) -> None:
    increments = -runs[0].increments - 1 if wrong == "below" else runs[0].increments[:, 1:]
    path, training = stored(tmp_path, world, [replace(runs[0], increments=increments.contiguous())])
    with pytest.raises(StoreError, match="increment"):
        read_trainings_without(path, training)


def test_accuracy_is_measured_at_the_ends_alone(world: World, runs: list[TrainingWithout]) -> None:
    """Nobody reads it, and the trainings of the world are shorter than 200 rounds."""
    assert int(world.lineage.segments[0].rounds.max()) < 200
    for run in runs:
        ends = {(row, at) for row, last in enumerate(run.segment.rounds.tolist()) for at in (0, last)}
        assert {(one.seed_row, one.round) for one in run.segment.evaluations} == ends


def test_in_one_batch_they_have_the_same_bits(world: World, runs: list[TrainingWithout]) -> None:
    """As on a GPU, where the requests are one batch; its first round without each request's clients is as alone."""
    together = trainings_without(world.lineage.engine, world.lineage.segments[0], masks(7, 3), at_once=3)
    for found, alone in zip(together, runs, strict=True):
        assert torch.equal(found.increments, alone.increments)
        for name in ("start", "final", "rounds", "available", "key_state", "snapshots"):
            assert torch.equal(getattr(found.segment, name), getattr(alone.segment, name))
        for one, other in zip(vars(found.segment.trace).values(), vars(alone.segment.trace).values(), strict=True):
            assert torch.equal(one, other)
    assert not torch.equal(together[0].segment.final, together[1].segment.final)
