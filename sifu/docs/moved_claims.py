"""The verdicts of claims on certificates with empty seats, as before, and with refilled ones, dataset by dataset."""

from __future__ import annotations

from typing import NamedTuple

from sifu.docs.measured_text import table_text
from sifu.docs.moved import moved
from sifu.docs.replication_run import MeasuredRun, anchor
from sifu.replication.claims import bound, certificate, rounds
from sifu.replication.claims.claim import Claim, Line
from sifu.replication.claims.empty_seats import with_empty_seats
from sifu.replication.claims.verdict import Verdict

_CLAIMS = (certificate.SIFU_KEEPS_ITS_PROMISE, certificate.STRICT_SIFU_KEEPS_ITS_PROMISE)
_WORDS = {verdict: verdict.value for verdict in Verdict}
_UNTESTED = (Verdict.NOT_RUN, Verdict.NOT_TESTABLE)
_NOT_HAD = {  # claims that refilled seats touch, too, and why their verdict of then does not follow from today's rows
    bound.ALPHA_BELOW_PSI: "alpha was measured with empty seats, too, and those distances are not stored",
    rounds.STRICT_SIFU_SAVES: "strict SIFU went back by the earlier count, and those answers are not stored",
}


def moved_claims(run: MeasuredRun) -> str:
    """A row a claim and dataset, and one of the claim as a whole; then the claims that cannot be counted as before."""
    rows = [row for claim in _CLAIMS for row in _rows(claim, run)]
    table = table_text(rows, "claim", "dataset", "seats empty", "seats refilled", "moved") if rows else "Not run.\n"
    return f"{table}\n{_not_had()}"


class _Judged(NamedTuple):
    """A verdict, and in words also how many seeds keep their promises; None: could not be judged."""

    verdict: Verdict | None
    words: str


def _rows(claim: Claim, run: MeasuredRun) -> list[list[str]]:
    """Datasets that could be judged by either count; nothing where none could."""
    before, now = claim.measure(with_empty_seats(run.tables)), run.of(claim)
    pairs = {
        run.titles.get(old.scenario, old.scenario): (_of(old), _of(new))
        for old, new in zip(_counting(before), _counting(now), strict=True)
    }
    found = {name: pair for name, pair in pairs.items() if any(judged.verdict for judged in pair)}
    if found:
        found["all of them"] = _whole(claim.judge(before)), _whole(run.judgement(claim).verdict)
    link = f"[{claim.name}](#{anchor(claim)})"
    return [[link, name, old.words, new.words, _moved(old, new)] for name, (old, new) in found.items()]


def _counting(lines: list[Line]) -> list[Line]:
    """Those that the claim is judged by, in the order of datasets."""
    return [line for line in lines if line.counts]


def _of(line: Line) -> _Judged:
    if line.verdict is None or line.verdict in _UNTESTED or line.value is None:
        return _Judged(None, "-")
    seeds = line.value.seeds
    return _Judged(line.verdict, f"{_WORDS[line.verdict]} ({round(line.value.mean * seeds)} of {seeds} seeds)")


def _whole(verdict: Verdict) -> _Judged:
    return _Judged(verdict, _WORDS[verdict])


def _moved(before: _Judged, now: _Judged) -> str:
    return moved(before.verdict, now.verdict, _WORDS)


def _not_had() -> str:
    """A sentence a claim."""
    words = [f"- [{claim.name}](#{anchor(claim)}): {why}." for claim, why in _NOT_HAD.items()]
    return "\n".join(["The verdict of then cannot be had for:", *words]) + "\n"
