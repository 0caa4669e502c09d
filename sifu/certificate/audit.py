"""An audit by counting: a lower bound on epsilon from many independent models, whatever their distribution.

Two worlds: clients took part and were forgotten, or never took part. An attack accepts a model or not. Its hits in one
world and its false alarms in the other bound epsilon from below: P(hit) <= e^epsilon P(false alarm) + delta. Nothing is
assumed about trainings, noise or sensitivity, so a bound above a claim refutes the claim.
"""

from __future__ import annotations

import math

from sifu.core.intervals import clopper_pearson

REFUTED, NOT_REFUTED, CANNOT_TELL, NOTHING = "refuted", "not refuted", "cannot tell", "nothing is promised"
BEYOND = "exceeded, but not promised"  # for so many clients together
CONFIDENCE = 0.95


def proved_epsilon(hits: int, alarms: int, trials: int, delta: float, confidence: float = CONFIDENCE) -> float:
    """The epsilon at `delta` that hits and false alarms, each of `trials` models, prove; 0 if they prove nothing.

    One end of each interval is used, so both hold together with `confidence`.
    """
    hit_low, _ = clopper_pearson(hits, trials, confidence)
    _, alarm_high = clopper_pearson(alarms, trials, confidence)
    return max(0.0, math.log((hit_low - delta) / alarm_high)) if hit_low > delta else 0.0


def most_provable(trials: int, delta: float, confidence: float = CONFIDENCE) -> float:
    """The epsilon that this many models a world can prove at most: every hit, and no false alarm."""
    return proved_epsilon(trials, 0, trials, delta, confidence)


def verdict(claimed: float | None, proved: float, limit: float, *, covered: bool = True) -> str:
    """What a count says of a claimed epsilon; `limit`: what it could have proved at most. None: no claim.

    `covered`: whether the claim is made to all clients that the worlds differ in, together.
    """
    if claimed is None:
        return NOTHING
    if proved > claimed:
        return REFUTED if covered else BEYOND
    return NOT_REFUTED if limit > claimed else CANNOT_TELL
