"""Last, SIFU without its roll-back: where does a model recover from all the noise?"""

from __future__ import annotations

from dataclasses import replace

from sifu.claims.claim import Line, Measured, Verdict, each_dataset
from sifu.claims.tables import DATASETS, Tables

WELL, BADLY = 0.9, 0.1  # of the requests
RECOVERS = ("mnist", "celeba")
BREAKS = ("cifar10", "cifar100")
WORDS = (
    f"Doing well: at least {WELL:.0%} of the requests recover to the target; failing: at most {BADLY:.0%} do. MNIST "
    "and CelebA hold where Last does well, CIFAR where it fails; the contrary does not hold, between is in part. "
    "FashionMNIST is not spoken of, and not judged. Holds: on all four. Does not hold: on none of those that were run. "
    "In part: otherwise."
)


def recovers(value: Measured) -> Verdict:
    if value.mean >= WELL:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean <= BADLY else Verdict.IN_PART


def breaks(value: Measured) -> Verdict:
    opposite = {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}
    return opposite.get(recovers(value), Verdict.IN_PART)


def last_recovers(tables: Tables) -> list[Line]:
    """The share of requests after which Last reached the target."""
    lines = each_dataset("requests after which Last recovers", lambda name: tables.met(name, "last"), recovers)
    return [_as_claimed(line) for line in lines]


def _as_claimed(line: Line) -> Line:
    verdict = line.verdict
    if line.scenario in BREAKS and line.value is not None:
        verdict = breaks(line.value)
    elif line.scenario in DATASETS and line.scenario not in (*RECOVERS, *BREAKS):
        verdict = None
    return replace(line, verdict=verdict)
