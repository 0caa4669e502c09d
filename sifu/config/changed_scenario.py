"""A scenario with some of its settings changed: fewer rounds, another federation, values of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sifu.config.federation import Federation
from sifu.config.fields import build, file_name, refuse_unknown, setting, settings, shown_name, to_plain
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError


@settings
class Change:
    """The scenario's federation with some keys changed."""

    name: str = setting("folder of its results", file_name())
    label: str = setting("name in figures and tables", shown_name())
    change: dict[str, Any] = setting(
        "keys of the scenario's `federation` (except privacy and shards), with other values"
    )

    def refuse(self) -> None:
        if not self.change:
            raise ConfigError("change", {}, "at least one key of the scenario's federation")
        refuse_unknown(Federation, self.change, "change")
        if "privacy" in self.change:
            raise ConfigError("change.privacy", self.change["privacy"], "nothing: Psi is defined for plain averages")
        if "shards" in self.change:
            raise ConfigError("change.shards", self.change["shards"], "nothing: Psi is defined for one model")


def limited(scenario: Scenario, rounds: int | None) -> Scenario:
    """The scenario with at most `rounds` rounds; None: its own maximum."""
    limit = min(rounds or scenario.stop.max_rounds, scenario.stop.max_rounds)
    stop = replace(scenario.stop, max_rounds=limit, min_rounds=min(scenario.stop.min_rounds, limit))
    return replace(scenario, stop=stop)


def changed_scenario(scenario: Scenario, change: Mapping[str, Any], rounds: int | None, path: str) -> Scenario:
    """The scenario with some keys of its federation changed, and with at most `rounds` rounds; refusals name `path`."""
    federation = build(Federation, to_plain(scenario.federation) | dict(change), path)
    try:
        return limited(replace(scenario, federation=federation), rounds)
    except ConfigError as error:  # valid in itself, but impossible in this scenario
        raise ConfigError(error.key.replace("federation", path, 1), error.value, error.allowed, error.hint) from None


def tried_scenario(scenario: Scenario, values: Mapping[str, Any], path: str) -> Scenario:
    """The scenario with some values of a `ScenarioSearch`; refusals name `path`."""
    plain = to_plain(scenario)
    for key, value in values.items():
        scope, _, name = key.partition(".")
        if name:
            plain[scope][name] = value
        else:
            plain[scope] = value
    return build(Scenario, plain, path)
