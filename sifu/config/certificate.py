"""The requested (epsilon, delta) certificate, and how it is counted."""

from __future__ import annotations

from sifu.config.fields import above, at_least, from_to, inside, one_of, setting, settings
from sifu.errors import ConfigError


@settings
class Certificate:
    """The requested (epsilon, delta), and the noise for it."""

    epsilon: float = setting("epsilon of the unlearning certificate", from_to(0.001, 1000), default=10.0)
    delta: float = setting("delta of the unlearning certificate", inside(1e-12, 1), default=0.01)
    sigma: float = setting("standard deviation of the noise on each weight", at_least(0))
    contraction: float = setting("B(f, eta) of the sensitivity bound: 1 is the convex case", above(0), default=1.0)
    preset: str = setting(
        "how the certificate is counted. `published`: as in the paper's text; `released`: as in its code (Psi restarts "
        "at zero on every branch, every earlier cut is checked again); `strict`: for all clients of a request, seats "
        "refilled, exact noise (holds if B does); `empty_seats`: the same with seats left empty",
        one_of(("published", "released", "strict", "empty_seats")),
        default="published",
    )
    weight: str | None = setting(
        "a client's weight: its share of all clients, or of the round's cohort; null: the preset's",
        one_of(("share", "cohort")),
        default=None,
    )
    sets: str | None = setting(
        "clients forgotten together: the worst one, a bound for all, or exactly from their updates; null: the preset's",
        one_of(("max", "bound", "exact")),
        default=None,
    )
    branches: str | None = setting(
        "Psi accumulates along the lineage, or restarts at zero after each request, with SIFU's cuts as in the paper's "
        "code; null: the preset's",
        one_of(("accumulate", "reset")),
        default=None,
    )
    mechanism: str | None = setting(
        "noise by the textbook formula, or exact; null: the preset's", one_of(("classical", "analytic")), default=None
    )
    seats: str | None = setting(
        "a forgotten client's seat in a past round: empty, or refilled by the next client in line, as in a retraining; "
        "null: the preset's",
        one_of(("empty", "refilled")),
        default=None,
    )
    covers: str = setting(
        "who is covered after a request: its own clients, or all clients forgotten so far",
        one_of(("request", "everyone")),
        default="request",
    )

    def refuse(self) -> None:
        refilled = (self.seats or {"strict": "refilled"}.get(self.preset)) == "refilled"
        sets = self.sets or {"strict": "exact", "empty_seats": "bound"}.get(self.preset, "max")
        if refilled and sets == "bound":
            raise ConfigError("sets", "bound", "max | exact (with refilled seats)")
        if refilled and (self.branches or {"released": "reset"}.get(self.preset)) == "reset":
            raise ConfigError("branches", "reset", "accumulate (with refilled seats)")
        if self.covers == "everyone" and sets == "max":
            raise ConfigError("covers", "everyone", "request (with sets: max, which counts clients one by one)")
