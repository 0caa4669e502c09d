"""Trainings with several values of C and noise in one batch: each is what it is alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sifu.config.federation import Privacy
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO
from sifu.core.keys import Keys
from sifu.federation.first_training import train_everyone
from sifu.federation.private_trainings import fit_together, train_values
from sifu.federation.recorder import CohortRecorder, Recorder
from sifu.federation.stop import Stop
from sifu.federation.training import Training
from tests.conftest import tiny_engine, tiny_federation

SEEDS = range(2)  # those of the tiny engine


def scenario(clip: float, noise: float, rounds: int = 8, **changes: object) -> Scenario:
    federation = tiny_federation(privacy=Privacy(update_clip=clip, noise=noise), **changes)
    return replace(SCENARIO, federation=federation, stop=replace(SCENARIO.stop, max_rounds=rounds, min_rounds=2))


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_each_value_is_trained_as_alone(sampling: str) -> None:
    """Weights, rounds, accuracies and cohorts of three values, one of which ends earlier, are the same bits."""
    engine = tiny_engine(sampling=sampling)
    tried = [scenario(*values, sampling=sampling) for values in ((0.05, 0.01), (0.5, 0.0), (0.02, 0.3, 5))]
    together = train_values(engine, tried, SEEDS)
    for one, found in zip(tried, together, strict=True):
        alone = train_everyone(replace(engine, federation=one.federation, history=False), one, SEEDS)
        assert torch.equal(found.final, alone.final)
        assert torch.equal(found.trace.cohort[:, : alone.trace.cohort.shape[1]], alone.trace.cohort)
        assert found.rounds.tolist() == alone.rounds.tolist()
        assert found.status == alone.status
        assert found.evaluations == alone.evaluations
    finals = torch.stack([found.final for found in together])
    assert not torch.equal(finals[0], finals[1]), "the values matter"


def test_what_fits_together() -> None:
    one = scenario(0.1, 0.1)
    assert fit_together(one, scenario(0.2, 0.3, rounds=4))
    assert not fit_together(one, scenario(0.1, 0.1, client_lr=0.3))
    assert not fit_together(one, replace(one, stop=replace(one.stop, min_rounds=1)))
    plain = replace(one, federation=replace(one.federation, privacy=None))
    assert not fit_together(one, plain)
    assert fit_together(plain, plain)


def test_a_checkpoint_of_other_values_is_another_training() -> None:
    def identity(*clips: float, recorded: type[Recorder] = CohortRecorder) -> bytes:
        privacies = tuple(Privacy(update_clip=clip, noise=0.1) for clip in clips)
        engine, keys = replace(tiny_engine(privacy=privacies[0]), privacies=privacies), Keys.of(SEEDS)
        start, everyone = engine.initial(keys), torch.ones_like(engine.clients.size, dtype=torch.bool)
        recorder = recorded(engine.model, start, engine.places, 1)
        return Training(engine, start, everyone, keys, Stop(None, 0, torch.tensor([3, 3])), recorder, None).identity()

    assert identity(0.1, 0.2) == identity(0.1, 0.2)
    assert identity(0.1, 0.2) != identity(0.1, 0.3)
    assert identity(0.1, 0.2) != identity(0.1, 0.2, recorded=Recorder), "one that keeps more of the past"
