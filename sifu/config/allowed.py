"""What a setting may be: a test of a value, and the text that tells a user which values pass it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sifu.errors import did_you_mean


class Allowed(NamedTuple):
    """A test of one value, and a text that tells the user which values pass it."""

    text: str
    test: Callable[[Any], bool]
    hint: Callable[[Any], str] = lambda value: ""  # what may have been meant by a value that does not pass


def at_least(low: float, high: float = 1_000_000) -> Allowed:
    """No number is without a limit: one far beyond any use hangs or overflows somewhere below."""
    return Allowed(f"{low} or more, at most {high}", lambda v: low <= v <= high)


def above(low: float, high: float = 1_000_000) -> Allowed:
    return Allowed(f"above {low}, at most {high}", lambda v: low < v <= high)


def between(low: float, high: float) -> Allowed:
    return Allowed(f"above {low}, at most {high}", lambda v: low < v <= high)


def inside(low: float, high: float) -> Allowed:
    return Allowed(f"above {low}, below {high}", lambda v: low < v < high)


def from_to(low: float, high: float) -> Allowed:
    return Allowed(f"{low} to {high}", lambda v: low <= v <= high)


def one_of(names: Sequence[str]) -> Allowed:
    return Allowed(" | ".join(names), lambda v: v in names, lambda v: did_you_mean(v, names))


def file_name() -> Allowed:
    """A name for folders of results that has no special meaning to shells or wildcards."""
    text = "lower case letters, digits and _ that start with a letter, at most 100"
    return Allowed(text, lambda v: isinstance(v, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,99}", v) is not None)


def shown_name() -> Allowed:
    """A name that people read."""
    return Allowed("a text with something to see", lambda v: isinstance(v, str) and looks_like(v) != "")


def inner_folder() -> Allowed:
    """A path inside the current folder that has no special meaning to shells or wildcards, and is not the suite's."""
    text = "a folder inside this one, of letters, digits, spaces and _ - . /, without .., and none of the suite's own"
    shape = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./ -]{0,199}")
    return Allowed(text, lambda v: shape.fullmatch(v) is not None and _is_free(v))


def _is_free(folder: str) -> bool:
    """Whether results may lie there: not in a hidden folder, nor where the suite keeps its code."""
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    return not any(part.startswith(".") for part in parts) and (not parts or parts[0].lower() not in _OWN_FOLDERS)


_OWN_FOLDERS = ("sifu", "config", "docs", "examples", "profiles", "tests", "workflow", "snakefile", "makefile", "data")


_LARGEST = 1e38  # in size, of any number without limits of its own: what a float32 can hold
_LONGEST = 200  # characters of any text


def _is_ordinary(value: Any) -> bool:
    """Whether a number is not absurd, and a text one visible line; anything else has fields of its own."""
    if isinstance(value, str):
        return len(value) <= _LONGEST and is_plain_text(value)
    if isinstance(value, tuple):
        return all(_is_ordinary(item) for item in value)
    return not isinstance(value, int | float) or abs(value) <= _LARGEST


ORDINARY = Allowed(
    f"numbers of at most {_LARGEST:g} in size, and texts of one line of at most {_LONGEST} visible characters",
    _is_ordinary,
)


_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\ufe00-\ufe0f]")  # letters and signs without a picture


def looks_like(text: str) -> str:
    """The same for texts that nobody can tell apart: by spaces, wide letters, marks alone, letters without a picture.

    Letters of two alphabets that look alike stay different.
    """
    return " ".join(_BLANK.sub("", unicodedata.normalize("NFKC", text)).split())


def is_plain_text(text: str) -> bool:
    """Whether a text is one line that shows what it is: no control characters, and none that turn it around."""
    return not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in text)
