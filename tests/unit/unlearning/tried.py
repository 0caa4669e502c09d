"""A method for tests of the interface, made of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Method


def method_that(answers: Callable[..., Any], *keeps: Kept) -> Method:
    """A method whose `unlearn` is `answers(history, request, server, keys)`."""
    kept = frozenset(keeps)

    class Tried(Method):
        name = "tried"

        @property
        def keeps(self) -> frozenset[Kept]:
            return kept

        def unlearn(self, *given: Any) -> Any:
            return answers(*given)

    return Tried()
