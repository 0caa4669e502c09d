"""Errors for bad input. The user sees one sentence, no traceback."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Callable, Iterable

_OTHER_WORDS = {"gpu": "cuda"}  # what is meant by a word that looks like something else


def did_you_mean(word: object, names: Iterable[str]) -> str:
    """` (did you mean sifu?)` for a word that is close to one of the names; else nothing."""
    text = _written(word, str)
    names, other = list(names), _OTHER_WORDS.get(text)
    if len(text) > _LONGEST or len(names) > _MANY:  # comparing takes a time of both lengths
        return ""
    close = [other] if other in names else difflib.get_close_matches(text, names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _short(value: object) -> str:
    """A value as Python writes it, cut where it is long."""
    return cut(_written(value, repr), _LONGEST)


def cut(text: str, longest: int) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def _first_names(allowed: str) -> str:
    """What is allowed, where more than its first names would only hide a hint."""
    return allowed if len(allowed) <= _LONG_LIST else textwrap.shorten(allowed, _FIRST, placeholder=" ...")


def _written(value: object, write: Callable[[object], str]) -> str:
    try:
        return write(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"


_LONGEST = 120  # characters of a refused value
_LONGEST_KEY = 200
_LONG_LIST = 200  # characters of what is allowed, in which a hint would drown
_FIRST = 80  # characters of such a list that are shown
_LONGEST_WORDS = 6000  # of what is allowed: a list of all variants is long
_MANY = 2000  # names that a word is compared with


class SifuError(Exception):
    """Bad input. The message is one sentence that says what is wrong, where, and what to do."""


class DataError(SifuError):
    """A dataset is missing, damaged or too small for the partition."""


class StoreError(SifuError):
    """A results file is missing, or its contents do not fit its table."""


class MethodRefused(SifuError):
    """A method does not apply to a scenario. Its cells get the status `refused`."""


class ConfigError(SifuError):
    """A setting is refused. `key` is its dotted path, to which callers can prepend theirs (`inside`).

    `hint`, such as ` (did you mean sifu?)`, comes first, and a long list of what is allowed is then cut.
    """

    def __init__(self, key: str, value: object, allowed: str, hint: str = "") -> None:
        self.key, self.value, self.allowed, self.hint = key, value, allowed, hint
        words = _first_names(allowed) if hint else cut(allowed, _LONGEST_WORDS)
        said = f"{_short(value)} is refused{cut(hint, _LONGEST_WORDS)}"
        super().__init__(f"{cut(key, _LONGEST_KEY)}: {said}; allowed: {words}")

    def inside(self, path: str) -> ConfigError:
        """The same refusal with `path` in front of its key."""
        return ConfigError(f"{path}.{self.key}" if path else self.key, self.value, self.allowed, self.hint)


class MethodError(SifuError):
    """A method that breaks the interface: it reads what it does not declare, or gives back something else."""
