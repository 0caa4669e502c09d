"""The interface of an unlearning method.

A method is one class in one file of sifu/methods, with one line in sifu/catalog/methods.py. Its fields are its
settings. It is called once for all seeds, with everything as arrays over S: it never loops over seeds, never mixes
values of two seeds, never sees a later request, and never reports its own cost. Being registered is being tested: the
contract tests run over the catalog.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, dataclass_transform, runtime_checkable

from sifu.config.certificate import Certificate
from sifu.config.fields import setting, settings
from sifu.unlearning.kept import Kept

if TYPE_CHECKING:  # nothing heavy: methods are imported while the Snakefile is parsed
    from torch import Tensor

    from sifu.config.scenario import Scenario
    from sifu.unlearning.method_types import History, Keys, Node, Request, Segment, Server


class Assumptions(NamedTuple):
    """What a method works with and promises: the columns of the paper's Table 1. Give them by keyword."""

    # works with FedAvg as it is; one that does not has a `training`, a model or local steps of its own, or is for
    # gradient descent on all data
    fedavg: bool = True
    convex: bool = False  # a theorem for convex losses
    non_convex: bool = False  # a theorem beyond them
    server_data: bool = False  # needs data at the server
    forgotten_data: bool = False  # needs the data of the clients to forget
    stores: str = "nothing"  # what the server keeps for it, in words
    reference: str = ""  # where it is from


@dataclass(frozen=True)
class Promise:
    """The certificate that a method gives for a request. All [S] but epsilon and delta."""

    epsilon: float
    delta: float
    sigma: Tensor  # standard deviation of the noise on each weight
    psi: Tensor | None = None  # sensitivity of the model that was perturbed, as the method counts it
    psi_star: Tensor | None = None  # sensitivity that the noise can hide
    covers: Tensor | None = None  # clients that it is a promise to, together; None: all of the request
    everyone: bool = False  # whether it is a promise to all clients forgotten so far, not only to this request's
    noise: Literal["start", "end", "rounds"] = "start"  # added before recovery, after it, or in every round
    round_factor: float | None = None  # noise at the end: a round's factor on distances; None: B^K of the scenario
    blurred: Tensor | None = None  # [S, P] noise at the start: the model that it is on, where that is not the node's
    corrected: bool = False  # `blurred` is the node's model, moved for all forgotten so far: Psi counts, plus that way


@dataclass(frozen=True)
class Unlearned:
    """What a method gives back: the new branch, the node that it grew from, and what is promised."""

    segment: Segment
    node: Node
    promise: Promise | None = None
    published: Tensor | None = None  # [S, P] the model that is given out, where the branch's last one stays secret
    initial: Tensor | None = None  # [S, P] what `server.new_start` drew, where the branch starts from that

    @property
    def weights(self) -> Tensor:
        """The model that is given out. [S, P]"""
        return self.segment.final if self.published is None else self.published.cpu()


class Footprint(NamedTuple):
    """The size of a training, from which the server's storage follows."""

    num_clients: int
    num_weights: int
    cohort: int
    rounds: Tensor  # [S]
    num_layers: int = 1
    spares: int = 0  # trained in a round and not averaged

    def floats(self, kept: Kept) -> Tensor:
        """How many floats one kind of memory takes. [S]"""
        one = self.rounds.new_ones(self.rounds.shape)
        checkpoints = self.rounds.clamp(max=self.num_clients)  # a model for each client: its own last usable one
        each = {
            Kept.START: one * self.num_weights,
            Kept.MODELS: checkpoints * self.num_weights,
            Kept.COHORTS: self.rounds * self.cohort,
            Kept.SCALARS: self.rounds * self.num_clients,
            Kept.NORMS: self.rounds * self.cohort,
            Kept.FIRST_ROUND: one * self.cohort * self.num_weights,
            Kept.LAST_UPDATES: one * 2 * self.num_clients * self.num_weights,
            Kept.UPDATES: self.rounds * self.cohort * self.num_weights,
            Kept.PRODUCTS: self.rounds * (self.cohort + self.spares) ** 2,
        }
        return each[kept]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(setting,))
class Method:
    """An unlearning method. A subclass names itself, says what it assumes, and answers requests in `unlearn`."""

    name: ClassVar[str] = ""  # its key in METHODS
    specified_from: ClassVar[str] = ""  # the paper, authors' code at a commit, a port, second-hand words
    assumptions: ClassVar[Assumptions] = Assumptions()
    exact: ClassVar[bool] = False  # whether every answer carries `exact_promise`

    def __init_subclass__(cls) -> None:
        settings(cls)  # fields are settings: checked, documented, frozen

    @property
    def keeps(self) -> frozenset[Kept]:
        """What it reads of the past; reading anything else is refused."""
        return frozenset()

    @property
    def oracle(self) -> bool:
        """Whether its recovery ends by the test accuracy of a retrained model, which nobody has. Never by default."""
        return False

    @property
    def refills(self) -> bool:
        """Whether it relies on spare clients, trained in every round and not averaged. Then it pays for them."""
        return Kept.PRODUCTS in self.keeps

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned | Segment:
        """Answer one request of every seed. A bare segment means: trained on from the current model."""
        raise NotImplementedError(f"method {self.name} has no `unlearn`")

    def server_floats(self, footprint: Footprint) -> Tensor:
        """How many floats a server must have stored for it: the sum over `keeps`. [S]"""
        nothing = footprint.rounds.new_zeros(footprint.rounds.shape)
        return sum((footprint.floats(kept) for kept in sorted(self.keeps)), nothing)


class CertifiedMethod(Method):
    """A method that promises (epsilon, delta); the scenario's certificate is put in when it is built."""

    certificate: Certificate = setting("the certificate; by default the scenario's")

    @property
    def on_the_past(self) -> bool:
        """Whether its noise is on a model of the lineage: then that is compared with the same without the clients."""
        return True

    def covered(self, history: History, request: Request) -> Tensor:
        """The clients that the certificate covers: those of the request, or all clients forgotten so far. [S, C]"""
        return history.available[0] & ~request.remain if self.certificate.covers == "everyone" else request.forget

    def promise(
        self, history: History, request: Request, sigma: float | Tensor, psi: Tensor, psi_star: float | Tensor
    ) -> Promise:
        """The certificate for noise of `sigma` on a model of sensitivity `psi` [S]; `psi_star` is what it can hide.

        One number stands for all seeds.
        """
        import torch

        from sifu.certificate.rules import delta_of, rules_of

        sigma, psi_star = (
            psi.new_full(psi.shape, value) if isinstance(value, float) else value for value in (sigma, psi_star)
        )
        single = rules_of(self.certificate).sets == "max"  # Psi of the worst client: a promise to each client alone
        together = self.covered(history, request).sum(1)
        covers = torch.ones_like(together) if single else together
        delta = delta_of(self.certificate, history.num_clients)
        everyone = self.certificate.covers == "everyone"
        return Promise(self.certificate.epsilon, delta, sigma, psi, psi_star, covers, everyone)


@runtime_checkable
class OwnTraining(Protocol):
    """A method that must be there from the start: the federation is trained for it alone."""

    def training(self, scenario: Scenario) -> Scenario:
        """The scenario as it is trained, and recovered, for this method."""
        ...


def exact_promise(request: Request, sigma: float = 0.0) -> Promise:
    """The certificate of a method whose result does not depend on the forgotten clients at all.

    `sigma`: noise on the model that recovery starts from, for whatever reason; the promise does not need it.
    """
    zero = request.size.double().new_zeros(request.size.shape)  # [S]
    return Promise(0.0, 0.0, sigma=zero + sigma, psi=zero, psi_star=zero, everyone=True)
