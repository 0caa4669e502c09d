"""How a certificate is counted: five switches, and four presets of them.

`published`    the paper: shares of all clients, the worst client of a set, Psi along the whole lineage, textbook noise
`released`     the paper's code: the same, but Psi starts at zero on every branch, every earlier cut is checked again,
               and delta is 1 / number of clients
`strict`       compared with the run that retraining makes, in which the next client in line takes a forgotten one's
               seat; all clients of a set together, exact noise: holds if B does (sifu/certificate/refilled.py)
`empty_seats`  for comparison: the weights that the aggregation used, but forgotten clients' seats stay empty, as in no
               retraining; in early rounds such a Psi can be too small

B, the contraction of a local step, is a setting of the scenario. B = 1 is a theorem for convex losses, full batches and
no momentum; otherwise it is an assumption, and the stage `alpha` measures how often Psi really is a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from sifu.config.certificate import Certificate
from sifu.config.federation import Federation


@dataclass(frozen=True)
class Rules:
    """How the sensitivity of a model to the forgotten clients is bounded, and how much noise is said to hide it."""

    weight: str  # share (of all clients' examples) | cohort (of the round's, which refilled seats always mean)
    sets: str  # max (over the clients) | bound (of them together) | exact (the same, from their updates)
    branches: str  # accumulate (along the lineage) | reset (at each request, and cut as in the paper's code)
    mechanism: str  # classical | analytic
    seats: str = "empty"  # of forgotten clients: empty | refilled (by the next in line)


PRESETS = {
    "published": Rules("share", "max", "accumulate", "classical"),
    "released": Rules("share", "max", "reset", "classical"),
    "strict": Rules("cohort", "exact", "accumulate", "analytic", "refilled"),
    "empty_seats": Rules("cohort", "bound", "accumulate", "analytic"),
}


def rules_of(certificate: Certificate) -> Rules:
    """The preset's rules, with the switches that the certificate sets itself."""
    preset = PRESETS[certificate.preset]
    return Rules(
        certificate.weight or preset.weight,
        certificate.sets or preset.sets,
        certificate.branches or preset.branches,
        certificate.mechanism or preset.mechanism,
        certificate.seats or preset.seats,
    )


def round_factor(certificate: Certificate, federation: Federation) -> float:
    """B^K: the factor by which a round scales the distance of two models."""
    return certificate.contraction**federation.local_steps


def delta_of(certificate: Certificate, num_clients: int) -> float:
    """The claimed delta; in the released code it is 1 / number of clients."""
    return 1 / num_clients if certificate.preset == "released" else certificate.delta
