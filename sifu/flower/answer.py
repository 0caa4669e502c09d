"""The answer to a request: what was done, and what is promised of it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Issued:
    """A certificate that was given: the claim, by the rules that were asked for, and what holds strictly.

    Names as in the suite's table `cells`. What holds compares with the run in which the next clients in line take the
    seats of the forgotten ones (docs/certificates.md); infinite where no spare client was trained to tell.
    """

    preset: str  # how the claim is counted
    epsilon: float
    delta: float
    sigma: float  # standard deviation of the noise on each weight
    psi: float  # sensitivity of the model that the noise was added to, as the claim counts it
    psi_star: float  # sensitivity that the noise can hide, by the claim
    covers: int  # clients that the claim is a promise to, together
    strict_psi: float  # sensitivity to all clients of the request together
    single_psi: float  # to the worst of them alone
    everyone_psi: float  # to all clients forgotten so far together
    actual_epsilon: float  # at the claimed delta, for all clients of the request
    actual_delta: float  # at the claimed epsilon

    def __str__(self) -> str:
        claimed = f"claimed ({self.preset}): epsilon {self.epsilon:g}, delta {self.delta:g}"
        noise = f"noise {self.sigma:g}, Psi {self.psi:.4g} of at most {self.psi_star:.4g}"
        if math.isinf(self.strict_psi):
            strict = "strict: not known, as too few spare clients were trained (option `spares`)"
        else:
            held = f"epsilon {self.actual_epsilon:.4g} at delta {self.delta:g}"
            strict = (
                f"strict: {held}, delta {self.actual_delta:.3g} at epsilon {self.epsilon:g}, Psi {self.strict_psi:.4g}"
            )
        return f"{claimed}; {noise}\n{strict}"

    def plain(self) -> dict[str, Any]:
        """As JSON holds it: what is infinite is text."""
        return {name: "infinite" if value == math.inf else value for name, value in asdict(self).items()}

    @staticmethod
    def of(fields: dict[str, Any]) -> Issued:
        """The inverse of `plain`."""
        values: dict[str, Any] = {name: math.inf if value == "infinite" else value for name, value in fields.items()}
        return Issued(**values)


@dataclass(frozen=True)
class Answer:
    """A request that was answered."""

    number: int  # from 1
    clients: tuple[str, ...]  # that were forgotten
    cut: tuple[int, int]  # (branch, round) of the model that the noise was added to
    rounds: int  # of recovery
    certificate: Issued
    model: str  # digest of the recovered model
    log: str  # digest of the log's last line: what to note outside of the store
    result: Any = field(default=None, compare=False, repr=False)  # Flower's, of the rounds of recovery

    def __str__(self) -> str:
        names = ", ".join(self.clients)
        where = f"back to round {self.cut[1]} of branch {self.cut[0]}, {self.rounds} rounds of recovery"
        return f"request {self.number}: forgotten {names}; {where}\n{self.certificate}\nlog {self.log}"
