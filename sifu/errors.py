"""Errors for bad input. The user sees one sentence, no traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_OTHER_WORDS = {"gpu": "cuda"}  # what is meant by a word that looks like something else


def did_you_mean(word: object, names: Iterable[str]) -> str:
    """` (did you mean sifu?)` for a word that is close to one of the names; else nothing."""
    names, other = list(names), _OTHER_WORDS.get(str(word))
    close = [other] if other in names else difflib.get_close_matches(str(word), names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _short(value: object) -> str:
    """A value as Python writes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 120  # characters of a refused value


class SifuError(Exception):
    """Bad input. The message is one sentence that says what is wrong, where, and what to do."""


class DataError(SifuError):
    """A dataset is missing, damaged or too small for the partition."""


class StoreError(SifuError):
    """A results file is missing, or its contents do not fit its table."""


class MethodRefused(SifuError):
    """A method does not apply to a scenario. Its cells get the status `refused`."""


class ConfigError(SifuError):
    """A setting is refused. `key` is its dotted path, to which callers can prepend theirs (`inside`)."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        self.key, self.value, self.allowed = key, value, allowed
        super().__init__(f"{key}: {_short(value)} is refused; allowed: {allowed}")

    def inside(self, path: str) -> ConfigError:
        """The same refusal with `path` in front of its key."""
        return ConfigError(f"{path}.{self.key}" if path else self.key, self.value, self.allowed)


class MethodError(SifuError):
    """A method that breaks the interface: it reads what it does not declare, or gives back something else."""
