"""The (epsilon, delta) certificate that is asked for, and how it is counted."""

from __future__ import annotations

from sifu.config.fields import above, at_least, from_to, inside, one_of, setting, settings


@settings
class Certificate:
    """The (epsilon, delta) that is asked for, and the noise that pays for it."""

    epsilon: float = setting("epsilon of the unlearning certificate", from_to(0.001, 1000), default=10.0)
    delta: float = setting("delta of the unlearning certificate", inside(1e-12, 1), default=0.01)
    sigma: float = setting("standard deviation of the noise on each weight", at_least(0))
    contraction: float = setting("B(f, eta) of the sensitivity bound: 1 is the convex case", above(0), default=1.0)
    preset: str = setting(
        "how it is counted: as the paper published it, as its code does it, or so that it holds",
        one_of(("published", "released", "strict")),
        default="published",
    )
    weight: str | None = setting(
        "a client's weight: its share of all clients, or of the round's cohort; null: the preset's",
        one_of(("share", "cohort")),
        default=None,
    )
    sets: str | None = setting(
        "those who leave together: the worst of them, a bound for all, or exactly from their updates; null: preset's",
        one_of(("max", "bound", "exact")),
        default=None,
    )
    branches: str | None = setting(
        "Psi goes on along the lineage, or starts at zero after each request; null: the preset's",
        one_of(("accumulate", "reset")),
        default=None,
    )
    mechanism: str | None = setting(
        "noise by the textbook formula or exactly; null: the preset's", one_of(("classical", "analytic")), default=None
    )
