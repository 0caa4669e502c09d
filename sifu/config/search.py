"""What is searched for: a grid of values, the seeds and rounds that each of them gets."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from sifu.config.blocks import block_name
from sifu.config.fields import at_least, setting, settings
from sifu.errors import ConfigError

FIRST_SEED = 1_000_000  # far from those that are reported


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
    """Values of a method's settings to try on seeds of their own, each with the same budget; the best one is used.

    A method with a training of its own is trained with each of them; any other starts from the scenario's training and
    answers the first request. A value with which a single seed diverges comes after all with which none does, whatever
    else it reaches. Of the rest the best reaches the target on most seeds, then in the fewest client steps, calibration
    included; where none does, it is the most accurate. What was forgotten is no part of it: no method is tuned on the
    measure that it is judged by.
    """

    grid: dict[str, Any] = setting("settings of the method with lists of values; every combination is tried")
    rounds: int = setting("rounds that a training, or a recovery, may take", at_least(1), default=500)
    num_seeds: int = setting("how many seeds", at_least(1), default=2)
    first_seed: int = setting("the first of them: none of the seeds that are reported", at_least(0), default=FIRST_SEED)

    def refuse(self) -> None:
        refuse_grid(self.grid)


@settings
class ScenarioSearch(_OwnSeeds):
    """Values of a scenario's settings that the paper leaves open, each with the same budget, on seeds of their own.

    With each of them the scenario is trained, and a variant answers the first request. A single seed that diverges puts
    a value after all with which none does; of the rest the best reaches the target both times on most seeds, then in
    the fewest client steps of both together. A scenario's own value is what is used; the search says which would be
    chosen, and the report where that is another one.
    """

    scenario: str = setting("one of the run's scenarios")
    grid: dict[str, Any] = setting("`model`, or `federation.` and a key of it, with a list of values; all combinations")
    variant: str = setting("name of variants.yaml that answers the request", default="sifu")
    rounds: int = setting("rounds that the training may take, and the recovery", at_least(1), default=2000)
    num_seeds: int = setting("how many seeds", at_least(1), default=2)
    first_seed: int = setting("the first of them: none of the seeds that are reported", at_least(0), default=FIRST_SEED)

    def refuse(self) -> None:
        refuse_grid(self.grid)
        for key in self.grid:
            if key != "model" and not str(key).startswith("federation."):
                raise ConfigError(f"grid.{key}", self.grid[key], "only the keys model and federation.<key>")
            if key == "federation.privacy":
                raise ConfigError(
                    f"grid.{key}", self.grid[key], "nothing: noise belongs to a method, not to a scenario"
                )

    @property
    def name(self) -> str:
        """Folder of its results."""
        return "_".join(key.removeprefix("federation.") for key in self.grid)


def refuse_grid(grid: Mapping[str, Any]) -> None:
    """A grid has keys, a key has values, a value is there once."""
    if not grid:
        raise ConfigError("grid", {}, "at least one setting with its values")
    for key, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(f"grid.{key}", values, "a list of at least one value")
        for value in values:
            if not isinstance(value, int | float | str | None):
                raise ConfigError(f"grid.{key}", value, "numbers, names, true, false or null")
        if len({_words(value) for value in values}) < len(values):
            raise ConfigError(f"grid.{key}", list(values), "each value once")


def trials(grid: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every combination of a grid, the last key fastest: `2, 0.5` -> {every: 2, calibration: 0.5}."""
    combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return {", ".join(_words(value) for value in values.values()): values for values in combinations}


def setting_name(grid: Mapping[str, Any]) -> str:
    """The settings of a grid as tables name them: `every, calibration`."""
    return ", ".join(grid)


def _words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:.12g}" if isinstance(value, float) else str(value)
