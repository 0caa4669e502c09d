"""First trainings of one federation with several values of DP-FedAvg's C and noise, in one batch.

Every row of the batch is a seed with one value, and its result is the same as alone (up to rounding where a GPU chooses
by batch size). No history is kept: what a search asks is how such a training ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.first_training import train_from
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Progress


def fit_together(one: Scenario, other: Scenario) -> bool:
    """Whether trainings of the two differ in nothing but C, noise and the maximum number of rounds."""
    if one.federation.privacy is None or other.federation.privacy is None:
        return one == other
    stop = replace(other.stop, max_rounds=one.stop.max_rounds)
    return one == replace(other, stop=stop, federation=replace(other.federation, privacy=one.federation.privacy))


def train_values(
    engine: Engine, scenarios: Sequence[Scenario], seeds: range, progress: Progress | None = None
) -> list[Segment]:
    """The training of each scenario on all clients of `engine`, until its target; any two of them `fit_together`."""
    first, count = scenarios[0], len(scenarios)
    given = [scenario.federation.privacy for scenario in scenarios for _ in seeds]
    privacies = tuple(one for one in given if one is not None) or None  # all have it, or none
    clients = engine.clients if count == 1 else engine.clients.repeated(count)
    packed = replace(engine, clients=clients, federation=first.federation, privacies=privacies, history=False)
    rules = [Stop.at_target(scenario.stop, len(seeds)) for scenario in scenarios]
    keys = Keys.of([*seeds] * count, clients.images.device)
    segment = train_from(packed, first, keys, progress, rules[0].joined(rules))
    return [segment.part(slice(at, at + len(seeds))) for at in range(0, len(given), len(seeds))]
