"""What a claim's datasets say, in two fields: on how many of those that were judged it holds, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sifu.replication.claims.claim import Claim, Line, missing
from sifu.replication.claims.stored_tables import EXAMPLE
from sifu.replication.claims.verdict import Verdict

_UNTESTED = (Verdict.NOT_RUN, Verdict.NOT_TESTABLE)
_WORDS = {  # what a claim does on some datasets, and on a single one or none of them
    Verdict.HOLDS: ("holds on", "holds"),
    Verdict.IN_PART: ("in part on", "holds in part"),
    Verdict.UNDECIDED: ("undecided on", "undecided"),
    Verdict.FAILS: ("not on", "does not hold"),
}


class Average(NamedTuple):
    """What the average of a claim says by itself, and what is missing from the whole rule."""

    verdict: Verdict
    datasets: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()  # the datasets that lack some of theirs

    def in_words(self, whole: Verdict, titles: Mapping[str, str]) -> str:
        """`**holds on average** (in part by the full rule: CelebA is missing)`; `whole`: by the full rule."""
        own = f"**{self.verdict.value} on average**"
        if whole is self.verdict:
            return own
        reasons = []
        if self.datasets:
            reasons.append(f"{_listed(self.datasets, titles)} {'is' if len(self.datasets) == 1 else 'are'} missing")
        if self.seeds:
            reasons.append(f"seeds of {_listed(self.seeds, titles)} are missing")
        why = f": {', '.join(reasons)}" if reasons else ""
        return f"{own} ({whole.value.removeprefix('holds ')} by the full rule{why})"


class Counted(NamedTuple):
    """The datasets of a claim by what came out; those that it does not speak of are in no field."""

    verdicts: Mapping[Verdict, tuple[str, ...]]  # the datasets that could be judged
    untested: tuple[str, ...]  # not run
    incomparable: tuple[str, ...]  # run, and in most seeds there is no number to judge

    @property
    def held(self) -> int:
        return len(self.verdicts.get(Verdict.HOLDS, ()))

    @property
    def failed(self) -> int:
        return len(self.verdicts.get(Verdict.FAILS, ()))

    @property
    def judged(self) -> int:
        return sum(map(len, self.verdicts.values()))

    def in_short(
        self, verdict: Verdict, titles: Mapping[str, str], *, adjusted_away: bool, average: Average | None = None
    ) -> str:
        """`**holds on 3 of 4**, in part on MNIST`: what came out on the datasets that were judged.

        `verdict` is that by the whole rule; `adjusted_away`: it is undecided by the adjustment for many claims alone;
        `average`: of a claim that is judged by one, which comes first.
        """
        if not self.judged:
            return f"**{Verdict.NOT_TESTABLE.value}**"
        if average:
            adjusted = f"**{verdict.value} on average** once adjusted for many claims"
            head = adjusted if adjusted_away else average.in_words(verdict, titles)
            return f"{head}; by dataset: {', '.join(self._words(titles))}"
        first, *others = self._words(titles)
        words = ", ".join([f"**{first}**", *others])
        if adjusted_away:
            return f"{words}, but undecided once adjusted for many claims"
        if verdict is Verdict.NOT_TESTABLE:
            return f"{words}, too few for a verdict"
        if others and verdict in (Verdict.UNDECIDED, Verdict.FAILS):
            return f"**{verdict.value}**: {', '.join([first, *others])}"
        follows = verdict in self.verdicts or verdict not in (Verdict.UNDECIDED, Verdict.FAILS)
        return words if follows else f"{words}; by the rule of the claim: {verdict.value}"

    def _words(self, titles: Mapping[str, str]) -> list[str]:
        """How many datasets have the best verdict; then those that have another one, by their titles."""
        found = [(verdict, self.verdicts[verdict]) for verdict in _WORDS if self.verdicts.get(verdict)]
        (best, names), *others = found
        if not others:
            return [_alike(best, [titles.get(name, name) for name in names if name != EXAMPLE])]
        first = f"{_WORDS[best][0]} {len(names)} of {self.judged}"
        return [first, *(f"{_WORDS[verdict][0]} {_listed(names, titles)}" for verdict, names in others)]

    def not_judged(self, titles: Mapping[str, str]) -> str:
        """The titles of datasets that were not judged, and why: `CIFAR-10 (not run); CelebA (not comparable)`."""
        parts = {"not run": self.untested, "not comparable": self.incomparable}
        return "; ".join(f"{_listed(names, titles)} ({why})" for why, names in parts.items() if names) or "none"


def _alike(verdict: Verdict, judged: list[str]) -> str:
    """All datasets have the same verdict; none of them: a claim about no dataset."""
    on, alone = _WORDS[verdict]
    if len(judged) < 2:
        return f"{alone} on {judged[0]}, the only one judged" if judged else alone
    if verdict is Verdict.FAILS:
        return f"{alone} on any of the {len(judged)} judged"
    return f"{on} {'both' if len(judged) == 2 else f'all {len(judged)}'} judged"


def _listed(names: Iterable[str], titles: Mapping[str, str]) -> str:
    return ", ".join(titles.get(name, name) for name in names)


def claim_in_short(claim: Claim, lines: list[Line], verdict: Verdict, titles: Mapping[str, str]) -> str:
    """What came out on the datasets that were judged; `verdict`: by the whole rule, adjusted for all claims."""
    adjusted_away = verdict is Verdict.UNDECIDED and claim.judge(lines) is not verdict
    own = claim.of_average(lines)
    average = Average(own, *map(tuple, missing(lines))) if own else None
    return counted(lines).in_short(verdict, titles, adjusted_away=adjusted_away, average=average)


def counted(lines: Iterable[Line]) -> Counted:
    """Both fields of a claim, by the lines that it is judged on."""
    judged_on = [line for line in lines if line.counts]
    not_run, in_vain = (tuple(line.scenario for line in judged_on if line.verdict is kind) for kind in _UNTESTED)
    found: dict[Verdict, tuple[str, ...]] = {}
    for line in judged_on:
        if line.verdict and line.verdict not in _UNTESTED:
            found[line.verdict] = (*found.get(line.verdict, ()), line.scenario)
    return Counted(found, not_run, in_vain)
