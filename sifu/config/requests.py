"""The requests to forget: which clients, in which order."""

from __future__ import annotations

from typing import ClassVar

from sifu.config.fields import at_least, setting, settings
from sifu.errors import ConfigError


@settings
class ListedRequests:
    """The clients of each request, listed."""

    kind: ClassVar[str] = "listed"
    clients: tuple[tuple[int, ...], ...] = setting("a list of client numbers for each request")


@settings
class ClassRequests:
    """Each request forgets all clients of one class (needs the partition one_class)."""

    kind: ClassVar[str] = "one_class"
    classes: tuple[int, ...] = setting("the class that each request forgets", at_least(0))


@settings
class GroupRequests:
    """Each request forgets a group of clients: those with the same i mod `groups`, as in the paper's code."""

    kind: ClassVar[str] = "groups"
    which: tuple[int, ...] = setting("the group that each request forgets", at_least(0))
    groups: int = setting("how many groups", at_least(2), default=10)

    def refuse(self) -> None:
        if len(set(self.which)) < len(self.which) or any(group >= self.groups for group in self.which):
            raise ConfigError("which", list(self.which), f"each of the groups 0 to {self.groups - 1} at most once")


@settings
class RandomRequests:
    """Each request is a random draw among the remaining clients, a different one for each seed unless `seed` is set."""

    kind: ClassVar[str] = "random"
    num_requests: int = setting("how many requests (U)", at_least(1), default=3)
    size: int = setting("clients in a request", at_least(1), default=10)
    seed: int | None = setting(
        "the seed that draws the requests of all seeds; null: each seed draws its own", at_least(0), default=None
    )


Requests = ListedRequests | ClassRequests | GroupRequests | RandomRequests
