"""What a claim's datasets say, in two fields: on how many of those that were judged it holds, and which were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sifu.replication.claims.claim import Line
from sifu.replication.claims.verdict import Verdict

_UNTESTED = (Verdict.NOT_RUN, Verdict.NOT_TESTABLE)
_WORDS = {  # of one dataset, and of more
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.IN_PART: ("in part", "in part"),
    Verdict.UNDECIDED: ("undecided", "undecided"),
    Verdict.FAILS: ("does not", "do not"),
}


class Counted(NamedTuple):
    """The datasets of a claim by what came out; those that it does not speak of are in no field."""

    verdicts: Mapping[Verdict, int]  # of the datasets that could be judged
    untested: tuple[str, ...]  # not run
    incomparable: tuple[str, ...]  # run, and in most seeds there is no number to judge

    @property
    def held(self) -> int:
        return self.verdicts.get(Verdict.HOLDS, 0)

    @property
    def judged(self) -> int:
        return sum(self.verdicts.values())

    @property
    def held_text(self) -> str:
        """`3 of 3 hold`, or `2 hold, 1 in part, of 3`."""
        if not self.judged:
            return "none judged"
        if self.held == self.judged:
            return f"{self.held} of {self.judged} hold{'s' if self.judged == 1 else ''}"
        counts = [(self.verdicts.get(name, 0), one, many) for name, (one, many) in _WORDS.items()]
        words = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count or one == "holds"]
        return ", ".join([*words, f"of {self.judged}"])

    def not_judged(self, titles: Mapping[str, str]) -> str:
        """The titles of datasets that were not judged, and why: `CIFAR-10 (not run); CelebA (not comparable)`."""
        parts = {"not run": self.untested, "not comparable": self.incomparable}
        named = {why: ", ".join(titles.get(name, name) for name in names) for why, names in parts.items() if names}
        return "; ".join(f"{names} ({why})" for why, names in named.items()) or "none"


def counted(lines: Iterable[Line]) -> Counted:
    """Both fields of a claim, by the lines that it is judged on."""
    judged_on = [line for line in lines if line.counts]
    not_run, in_vain = (tuple(line.scenario for line in judged_on if line.verdict is kind) for kind in _UNTESTED)
    counts = Counter(line.verdict for line in judged_on if line.verdict and line.verdict not in _UNTESTED)
    return Counted(counts, not_run, in_vain)
