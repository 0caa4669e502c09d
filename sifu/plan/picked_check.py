"""What no entry of the two files can say alone: labels of variants that are run together, requests that there are."""

from __future__ import annotations

from collections.abc import Mapping

from sifu.config.allowed import looks_like
from sifu.config.requests import RandomRequests
from sifu.config.scenario import Scenario, request_lists
from sifu.config.variant import Variant
from sifu.errors import ConfigError


def refuse_labels(picked: Mapping[str, Variant]) -> None:
    """Figures and tables name variants by their labels alone."""
    seen: dict[str, str] = {}
    for name, variant in picked.items():
        other = seen.setdefault(looks_like(variant.label), name)
        if other != name:
            words = f"variants with different labels; those of {other} and {name} look alike"
            raise ConfigError("variants", list(picked), words)


def refuse_no_requests(name: str, scenario: Scenario) -> None:
    """A scenario of the library has none yet; one of a run would have nothing to do."""
    if _count(scenario) == 0:
        raise ConfigError(f"scenarios.{name}.requests", scenario.requests.kind, "at least one request")


def refuse_late(key: str, asked: tuple[int, ...], name: str, scenario: Scenario) -> None:
    """Models are asked for after a request that the scenario does not have."""
    last = _count(scenario)
    if max(asked) > last:
        raise ConfigError(f"{key}.requests", list(asked), f"numbers from 1 to {last}, the requests of {name}")


def _count(scenario: Scenario) -> int:
    if isinstance(scenario.requests, RandomRequests):
        return scenario.requests.num_requests
    return len(request_lists(scenario) or ())
