"""What an audit compares: methods, for whom, after which requests, with how many models of each world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.errors import ConfigError
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.request import client_mask, draw_requests

_MOST_CHOOSING = 1000  # models that choose the attack, at most; else half as many as are counted
_FEWEST = 20  # the same, at least


class Target(NamedTuple):
    """Who is forgotten, and after which requests the two worlds are compared."""

    who: str
    forget: list[Tensor]  # [C] bool: the clients of each request
    requests: tuple[int, ...]

    @staticmethod
    def of(scenario: Scenario, seed: int, who: str, requests: list[int], option: str = "--requests") -> Target:
        """`request`: the scenario's own requests; `client`: the first client of the first one, alone.

        `option` is where the requests come from.
        """
        forget = [mask[0] for mask in draw_requests(scenario, Keys.of([seed]))]
        if who == "client":
            return Target.single(scenario, int(forget[0].nonzero()[0]))
        if not all(1 <= number <= len(forget) for number in requests):
            raise ConfigError(option, list(requests), f"numbers from 1 to {len(forget)}")
        return Target("request", forget, tuple(requests))

    @staticmethod
    def single(scenario: Scenario, client: int) -> Target:
        return Target(f"client {client}", [client_mask([client], scenario.partition.num_clients)], (1,))


@dataclass(frozen=True)
class AuditPlan:
    """What is audited: methods by their variants' names, for whom, with how many models a world."""

    methods: Mapping[str, Method]
    targets: list[Target]
    models: int  # counted in each world
    more_models: int | None = None  # counted where `models` are told apart without an error, and prove too little

    @property
    def choosing(self) -> int:
        """Further models of each world, which the attack is chosen with."""
        return max(_FEWEST, min(self.models // 2, _MOST_CHOOSING))

    def groups(self) -> Iterator[list[str]]:
        """Variants that start from the same training."""
        return training_groups(self.methods)


def training_groups(methods: Mapping[str, Method]) -> Iterator[list[str]]:
    """Variants that start from the same training; a method with a training of its own is alone."""
    own = [name for name, method in methods.items() if isinstance(method, OwnTraining)]
    shared = [name for name in methods if name not in own]
    yield from [shared] if shared else []
    yield from ([name] for name in own)
