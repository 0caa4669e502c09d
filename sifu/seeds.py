"""Names of blocks of seeds."""

from __future__ import annotations

from sifu.errors import ConfigError


def block_name(seeds: range) -> str:
    return f"s{seeds[0]:03d}-{seeds[-1]:03d}"


def block_seeds(name: str) -> range:
    """The seeds of a block name; the inverse of `block_name`."""
    try:
        first, last = (int(part) for part in name.removeprefix("s").split("-"))
    except ValueError:
        raise ConfigError("block", name, "a name like s000-009") from None
    if not 0 <= first <= last < 2 * 10**9 or block_name(range(first, last + 1)) != name:
        raise ConfigError("block", name, "a name like s000-009")
    return range(first, last + 1)
