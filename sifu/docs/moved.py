"""How a verdict moved from one count to another, in a word or two."""

from __future__ import annotations

from sifu.replication.claims.verdict import Verdict

UNCHANGED, AGAIN, UNKNOWN = "unchanged", "to be counted again", "cannot be said"


def moved(before: Verdict | None, now: Verdict | None, words: dict[Verdict, str]) -> str:
    """`now kept`; None: there is no such count, so that nothing can be said."""
    if before is None:
        return UNKNOWN
    if now is None:
        return AGAIN
    return UNCHANGED if before is now else f"now {words[now]}"
