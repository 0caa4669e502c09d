"""A deviation: what the paper or its code does, what is done here, and what that changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sifu.docs.measured_text import interval_text
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.claims.claim import Line

NOT_MEASURED = "Not measured."
NO_ROWS = "(not run)"
Text = str | Callable[[MeasuredRun], str]  # a function where the stored run or the config gives the words


@dataclass(frozen=True)
class Deviation:
    """One difference between this replication and the paper, or between the paper's text and its code."""

    subject: str
    paper: str
    here: Text
    effect: Text = NOT_MEASURED

    def row(self, run: MeasuredRun) -> list[str]:
        here, effect = (text if isinstance(text, str) else text(run) for text in (self.here, self.effect))
        return [self.subject, self.paper, here, effect]


def line_text(line: Line | None) -> str:
    """The number of a measured line."""
    return interval_text(line.value, line.unit) if line is not None and line.value is not None else NO_ROWS
