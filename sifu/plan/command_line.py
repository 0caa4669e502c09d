"""What `snakemake` was called with: settings as `--config key=value`, and whether it is a dry run.

Of settings, Snakemake leaves `null`, and numbers inside of lists, as texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

_DRY = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--dry.*")  # -n, also among other letters: -np


def is_dry(arguments: Sequence[str]) -> bool:
    """Whether Snakemake only lists jobs. It does not say so itself before the plan is made."""
    return any(_DRY.fullmatch(word) for word in arguments)


def with_types(raw: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The merged config `raw` with the texts that are in none of its `files` read as those of a YAML file would be."""
    return {key: _typed(value, [file[key] for file in files if key in file]) for key, value in raw.items()}


def _typed(value: Any, written: Sequence[Any]) -> Any:
    """A value of the command line; one that is `written` in a file stays."""
    if value in written:
        return value
    if isinstance(value, Mapping):  # Snakemake merges mappings key by key
        return with_types(value, [other for other in written if isinstance(other, Mapping)])
    if isinstance(value, list):
        return [_typed(item, ()) for item in value]
    return _from_text(value) if isinstance(value, str) else value


def _from_text(text: str) -> Any:
    """`null` -> None, `0.1` -> 0.1, `true` -> True; names stay names."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError):
        return text
    return value if isinstance(value, int | float | None) else text
