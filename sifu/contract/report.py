"""Runs checks and prints a line for each: its name, and `ok` or what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sifu.catalog.lookup import error_words
from sifu.errors import SifuError


def print_checks(checks: Iterable[tuple[str, Callable[[], None]]]) -> int:
    """The exit code: 0 if every check holds, else 1. An error in what is checked is a sentence as well."""
    failed = 0
    for name, check in checks:
        problem = _problem(check)
        failed += bool(problem)
        print(f"{name:<32} {problem or 'ok'}", flush=True)
    return int(failed > 0)


def _problem(check: Callable[[], None]) -> str:
    try:
        check()
    except SifuError as error:
        return str(error)
    except (Exception, SystemExit) as error:  # of the method or model itself
        return f"it failed with {error_words(error)}"
    return ""


def title(check: Callable[..., None]) -> str:
    """The name of a check as it is printed: `seed by seed`."""
    return check.__name__.removeprefix("check_").replace("_", " ")
