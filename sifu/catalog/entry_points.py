"""What other installed packages bring, by entry points: read from their metadata, nothing of them is imported."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

KINDS = ("methods", "models", "datasets", "metrics")  # the groups are sifu.methods, ...


class Brought(NamedTuple):
    """An entry that another package adds to a catalog."""

    name: str
    target: str  # "module:name"
    package: str


@cache
def brought(kind: str) -> tuple[Brought, ...]:
    """The entries of all installed packages for one catalog, in the order of their names."""
    found = entry_points(group=f"sifu.{kind}")
    return tuple(
        sorted(
            Brought(one.name, one.value.partition("[")[0].replace(" ", ""), one.dist.name if one.dist else "?")
            for one in found
        )
    )
