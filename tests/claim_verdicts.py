"""The paper's claims by the beginning of their name: verdicts and numbers in a small replication."""

from __future__ import annotations

from dataclasses import replace

from sifu.replication.claims.catalog import CLAIMS
from sifu.replication.claims.claim import Claim
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.verdict import Verdict
from tests.small_replication import PLAIN, World

ON_MARKS = ("With watermarks", "With backdoors")  # the claims that read scenarios with marks


def claim(name: str) -> Claim:
    """The claim whose name begins so."""
    (match,) = (claim for claim in CLAIMS if claim.name.startswith(name))
    return match


def verdict(name: str, world: World) -> Verdict:
    """The verdict on a claim in a world."""
    chosen = claim(name)
    marks = world.marks if chosen.name.startswith(ON_MARKS) else PLAIN
    return chosen.judge(chosen.measure(replace(world, marks=marks).tables()))


def measured(name: str, world: World, scenario: str, place: int = 0) -> Measured:
    """A claim's number on a scenario: the first, or that at another place."""
    lines = [line for line in claim(name).measure(world.tables()) if line.scenario == scenario]
    value = lines[place].value
    assert value is not None
    return value
