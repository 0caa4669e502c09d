"""What a claim's datasets say, in two fields: on how many of those that were judged it holds, and which were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sifu.replication.claims.claim import Line
from sifu.replication.claims.verdict import Verdict

_UNTESTED = (Verdict.NOT_TESTABLE, Verdict.NOT_RUN)


class Counted(NamedTuple):
    """The datasets of a claim by what came out; those that it does not speak of are in neither field."""

    held: int
    judged: int
    untested: tuple[str, ...]  # not run, or nothing to measure

    @property
    def held_text(self) -> str:
        """`3 of 4 hold`."""
        return f"{self.held} of {self.judged} hold{'s' if self.judged == 1 else ''}" if self.judged else "none judged"

    def untested_text(self, titles: Mapping[str, str]) -> str:
        """The titles of datasets that were not judged, or `none`."""
        return ", ".join(titles.get(name, name) for name in self.untested) or "none"


def counted(lines: Iterable[Line]) -> Counted:
    """Both fields of a claim, by the lines that it is judged on."""
    judged_on = [line for line in lines if line.counts]
    counts = Counter(line.verdict for line in judged_on)
    untested = tuple(line.scenario for line in judged_on if line.verdict in _UNTESTED)
    return Counted(counts[Verdict.HOLDS], len(judged_on) - len(untested), untested)
