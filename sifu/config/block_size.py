"""Scenarios whose jobs train another number of seeds together than the others."""

from __future__ import annotations

from sifu.config.fields import at_least, setting, settings
from sifu.errors import ConfigError


@settings
class BlockSize:
    """Scenarios with another size of blocks than the others."""

    scenarios: tuple[str, ...] = setting("some of the run's scenarios")
    size: int = setting("seeds trained together in one job", at_least(1))


def refuse_sizes(sizes: tuple[BlockSize, ...]) -> None:
    """Refuse two sizes of one scenario."""
    sized = [name for entry in sizes for name in entry.scenarios]
    if len(set(sized)) < len(sized):
        raise ConfigError("block_sizes", sized, "each scenario once")
