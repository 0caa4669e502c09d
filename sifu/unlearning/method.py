"""The interface of an unlearning method.

A method is a frozen settings class whose fields are its hyper-parameters, in one file, with one line in METHODS. It is
called once for all seeds, with everything as arrays over S: it never loops over seeds, never mixes values of two seeds,
never sees a later request, and never reports its own cost. The contract tests run over the registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.config.certificate import Certificate
    from sifu.config.scenario import Scenario
    from sifu.core.keys import Keys
    from sifu.federation.segment import Segment
    from sifu.unlearning.history import History, Node
    from sifu.unlearning.kept import Kept
    from sifu.unlearning.request import Request
    from sifu.unlearning.server import Server


class Assumptions(NamedTuple):
    """What a method works with and promises: the columns of the paper's Table 1."""

    fedavg: bool  # works with FedAvg as it is; a method that does not has a `training` of its own
    convex: bool  # a theorem for convex losses
    non_convex: bool  # a theorem beyond them
    server_data: bool  # needs data at the server
    forgotten_data: bool  # needs the data of those who leave
    stores: str  # what the server keeps for it, in words
    reference: str  # where it is from


@dataclass(frozen=True)
class Claim:
    """The certificate that a method gives for a request. All [S] but the two promises."""

    epsilon: float
    delta: float
    sigma: Tensor  # noise on each weight
    psi: Tensor | None = None  # sensitivity of the model that was perturbed, as the method counts it
    psi_star: Tensor | None = None  # sensitivity that the noise can hide
    covers: Tensor | None = None  # how many clients it is a promise to, together; None: all who leave now
    noise: Literal["start", "end", "rounds"] = "start"  # added before recovery, after it, or in every round there was


@dataclass(frozen=True)
class Unlearned:
    """What a method gives back: the new branch, the node that it grew from, and what is promised."""

    segment: Segment
    node: Node
    claim: Claim | None = None
    published: Tensor | None = None  # [S, P] the model that is given out, where the branch's last one stays secret

    @property
    def weights(self) -> Tensor:
        """The model that is given out. [S, P]"""
        return self.segment.final if self.published is None else self.published.cpu()


def exact_claim(request: Request) -> Claim:
    """The certificate of a method whose result does not depend on the leavers at all."""
    zero = request.forget.sum(1).double() * 0  # [S]
    return Claim(0.0, 0.0, sigma=zero, psi=zero, psi_star=zero)


def covered(certificate: Certificate, request: Request) -> Tensor | None:
    """How many clients a sensitivity counted by these rules is about: the worst of them alone, or all together. [S]"""
    from sifu.certificate.rules import rules_of

    return request.forget.sum(1) * 0 + 1 if rules_of(certificate).sets == "max" else None


class Footprint(NamedTuple):
    """The size of a training, for what a server must have stored."""

    num_clients: int
    num_weights: int
    cohort: int
    rounds: Tensor  # [S]
    num_layers: int = 1

    @property
    def updates(self) -> Tensor:
        """Floats of every client's update of every round. [S]"""
        return self.rounds * self.cohort * self.num_weights


class Method(Protocol):
    """An unlearning method."""

    name: ClassVar[str]  # key in METHODS, value in tables
    assumptions: ClassVar[Assumptions]

    @property
    def keeps(self) -> frozenset[Kept]:
        """What it reads of the past."""
        ...

    def with_certificate(self, certificate: Certificate) -> Method:
        """The method with this certificate, or itself where it gives none."""
        ...

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        """Answer one request of every seed."""
        ...

    def server_floats(self, footprint: Footprint) -> Tensor:
        """How many floats a server must have stored for it. [S]"""
        ...


@runtime_checkable
class OwnTraining(Protocol):
    """A method that must have been there from the start: the federation is trained for it alone."""

    def training(self, scenario: Scenario) -> Scenario:
        """The scenario as it is trained, and recovered, for this method."""
        ...
