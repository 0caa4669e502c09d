"""What a certificate counts, and how: four switches, and the three ways to set them that matter.

`published`  the paper: shares of all clients, the worst client of a set, Psi along the whole lineage, textbook noise
`released`   its code: the same, but Psi starts at zero on every branch, and delta is one over the number of clients
`strict`     the weights that the aggregation really used, a whole set at once, exact noise: what holds if B does

B, the contraction of a local step, is the scenario's. B = 1 is a theorem for convex losses, full batches and no
momentum; elsewhere it is an assumption, and the `alpha` stage measures how often Psi is a bound in fact.
"""

from __future__ import annotations

from dataclasses import dataclass

from sifu.config.certificate import Certificate
from sifu.config.federation import Federation


@dataclass(frozen=True)
class Rules:
    """How the sensitivity of a model to those who leave is bounded, and what noise is taken to hide."""

    weight: str  # share (of all clients' examples) | cohort (of the round's)
    sets: str  # max (over the clients) | bound (of them together) | exact (the same, from their updates)
    branches: str  # accumulate (along the lineage) | reset (at each request)
    mechanism: str  # classical | analytic


PRESETS = {
    "published": Rules("share", "max", "accumulate", "classical"),
    "released": Rules("share", "max", "reset", "classical"),
    "strict": Rules("cohort", "bound", "accumulate", "analytic"),
}


def rules_of(certificate: Certificate) -> Rules:
    """The preset, with the switches that are set alone."""
    preset = PRESETS[certificate.preset]
    return Rules(
        certificate.weight or preset.weight,
        certificate.sets or preset.sets,
        certificate.branches or preset.branches,
        certificate.mechanism or preset.mechanism,
    )


def round_factor(certificate: Certificate, federation: Federation) -> float:
    """B^K: what a round does to a distance that is there already."""
    return certificate.contraction**federation.local_steps


def delta_of(certificate: Certificate, num_clients: int) -> float:
    """The delta that is claimed: the released code ties it to the number of clients."""
    return 1 / num_clients if certificate.preset == "released" else certificate.delta
