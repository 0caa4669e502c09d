"""Searches: a grid of values, and the seeds and rounds for each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from sifu.config.blocks import block_name
from sifu.config.fields import at_least, setting, settings
from sifu.errors import ConfigError

FORGETS = 0.05  # a value that forgets is at most so much more accurate on forgotten clients' data than a retraining
FIRST_SEED = 1_000_000  # far from the reported seeds
_FIRST = "the first seed; none of the reported seeds may be used"
_MOST_TRIALS = 1000  # combinations of a grid
_TRAININGS = 2  # rounds of a value, in trainings: one that takes longer is of no use, as training again is faster


class _OwnSeeds:
    first_seed: int
    num_seeds: int

    @property
    def seeds(self) -> range:
        return range(self.first_seed, self.first_seed + self.num_seeds)

    @property
    def block(self) -> str:
        return block_name(self.seeds)


@settings
class Search(_OwnSeeds):
    """Values of a method's settings to try on separate seeds, each with the same budget; the best one is used.

    A method with its own training is trained with each value; any other method starts from the scenario's training and
    answers the first request. Values with which a seed diverges rank last. Among the others, the best one reaches the
    target on most seeds, forgets, and takes the fewest client steps, calibration included; if none reaches the target,
    the most accurate one is best. To forget is here to be at most 0.05 more accurate on the forgotten clients' data
    than a retraining; if no value is, the nearest one is best. Client steps are also the unit that methods are judged
    by; the twin test, by which forgetting is judged, is no part of the choice.

    By default, a value's recovery has twice the rounds that the scenario's longest training with these seeds takes, at
    most the scenario's maximum. So no value fails because it had fewer rounds than training again takes, and a value
    that never reaches the target ends after a known time. The training is that of the search's seeds, never of reported
    ones. A training of a method's own has the scenario's maximum: with noise it may need many more rounds.
    """

    grid: dict[str, Any] = setting("settings of the method, each with a list of values; every combination is tried")
    rounds: int | None = setting(
        "maximum rounds of a training or recovery; null: of a training the scenario's maximum, of a recovery twice the "
        "rounds of the scenario's longest training with these seeds",
        at_least(1),
        default=None,
    )
    num_seeds: int = setting("how many seeds", at_least(1, 1000), default=2)
    first_seed: int = setting(
        "the first seed; none of the reported seeds may be used", at_least(0, 10**9), default=FIRST_SEED
    )

    def refuse(self) -> None:
        refuse_grid(self.grid)

    def limit(self, longest: int) -> int:
        """Maximum rounds of a recovery, where the scenario's longest training with these seeds took `longest`."""
        return _TRAININGS * longest if self.rounds is None else self.rounds


@settings
class ScenarioSearch(_OwnSeeds):
    """Values of a scenario's settings that the paper does not give, tried on separate seeds with the same budget.

    With each value the scenario is trained, and a variant answers the first request. Values with which a seed diverges
    rank last. Among the others, the best one reaches the target both times on most seeds, then in the fewest client
    steps of both together. The run always uses the scenario's own value; the search says which value is best, and the
    report says where the two differ.
    """

    scenario: str = setting("one of the run's scenarios")
    grid: dict[str, Any] = setting(
        "`model` or `federation.<key>`, each with a list of values; every combination is tried"
    )
    variant: str = setting("name in variants.yaml of the variant that answers the request", default="sifu")
    rounds: int = setting("maximum rounds of the training, and of the recovery", at_least(1), default=2000)
    num_seeds: int = setting("how many seeds", at_least(1, 1000), default=2)
    first_seed: int = setting(
        "the first seed; none of the reported seeds may be used", at_least(0, 10**9), default=FIRST_SEED
    )

    def refuse(self) -> None:
        refuse_grid(self.grid)
        for key in self.grid:
            if key != "model" and not str(key).startswith("federation."):
                raise ConfigError(f"grid.{key}", self.grid[key], "only the keys model and federation.<key>")
            if key == "federation.privacy":
                raise ConfigError(
                    f"grid.{key}", self.grid[key], "nothing: noise belongs to a method, not to a scenario"
                )
            if key == "federation.shards":
                raise ConfigError(f"grid.{key}", self.grid[key], "nothing: shards belong to a method")

    @property
    def name(self) -> str:
        """Folder of its results."""
        return "_".join(key.removeprefix("federation.") for key in self.grid)


def refuse_grid(grid: Mapping[str, Any]) -> None:
    """Refuse a grid without keys, a key without values, and a value that occurs twice."""
    if not grid:
        raise ConfigError("grid", {}, "at least one setting with its values")
    for key, values in grid.items():
        if not isinstance(key, str):
            raise ConfigError("grid", key, "names of settings")
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(f"grid.{key}", values, "a list of at least one value")
        for value in values:
            if not isinstance(value, int | float | str | None):
                raise ConfigError(f"grid.{key}", value, "numbers, names, true, false or null")
        if len({_text(value) for value in values}) < len(values):
            raise ConfigError(f"grid.{key}", list(values), "each value once")
    count = math.prod(len(values) for values in grid.values())
    if count > _MOST_TRIALS:
        raise ConfigError("grid", f"{count} combinations", f"at most {_MOST_TRIALS}")


def trials(grid: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every combination of a grid, the last key fastest: `2, 0.5` -> {every: 2, calibration: 0.5}."""
    combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return {", ".join(_text(value) for value in values.values()): values for values in combinations}


def setting_name(grid: Mapping[str, Any]) -> str:
    """The settings of a grid as tables name them: `every, calibration`."""
    return ", ".join(grid)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:.12g}" if isinstance(value, float) else str(value)
