"""Values on the command line: KEY=VALUE, each value as YAML would read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sifu.config.yaml_file import read_value
from sifu.errors import ConfigError


def key_values(texts: Iterable[str]) -> dict[str, Any]:
    """`num_seeds=10` -> {"num_seeds": 10}."""
    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError("--set", text, "KEY=VALUE, such as num_seeds=10")
        values[key] = _read(text, value)
    return values


def _read(text: str, value: str) -> Any:
    try:
        return read_value(value)
    except ValueError:
        raise ConfigError("--set", text, "KEY=VALUE with a value of YAML, such as num_seeds=10") from None
