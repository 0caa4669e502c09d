"""One call of `start` or `forget`: the store that is open, and what is done with it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sifu.certificate.noise import psi_star
from sifu.certificate.rules import rules_of
from sifu.config.certificate import Certificate
from sifu.errors import SifuError
from sifu.flower.aggregate import Asked, Reply, flat, past_round
from sifu.flower.answer import Issued
from sifu.flower.checkpoints import Checkpoints
from sifu.flower.checks import refuse_arrays, refuse_other_shapes
from sifu.flower.history import Node
from sifu.flower.issue import covered, issue
from sifu.flower.models import Arrays
from sifu.flower.requests import OpenRequest, note_roll_back, roll_back_of
from sifu.flower.sampling import in_line, number_order, request_keys
from sifu.flower.store import Store


@dataclass(frozen=True)
class Settings:
    """What a strategy was made with."""

    certificate: Certificate
    spares: int  # clients a round that are trained and not averaged
    seed: int  # of the sampling
    factor: float  # B^K
    longest: float  # the longest update that a client can send
    noise_seed: int | None  # None: from the system, as it should be


class Session:
    """The store of a federation and its checkpoints, while training is under way."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings, self.history = store, settings, store.history
        certificate = settings.certificate
        counted = (rules_of(certificate), settings.factor, settings.longest, psi_star(certificate, 1))
        self.checkpoints = Checkpoints(store.history, *counted)
        if self.history.branches:
            self.checkpoints.start_again(store.stored())

    def begin(self, initial: Arrays) -> None:
        """The training begins with a model, or goes on where the store has it."""
        refuse_arrays(initial)
        if self.history.branches:
            refuse_other_shapes(initial, self.model, "the initial model")
            return
        self.history.begin(self.store.models.write(initial), self.settings.seed)
        self.checkpoints.start_again(self.store.stored())

    @property
    def model(self) -> Arrays:
        """The current model."""
        return self.store.models.read(self.history.digest(self.history.end))

    def invite(self, connected: Mapping[str, int], seats: int, share: float | None, least: int) -> Asked:
        """Who takes part in the next round: the first in line, and the spares after them."""
        branch, number = self.history.end
        line = in_line(connected.keys(), self.settings.seed, branch, number)
        absent = sorted(self.history.remaining - set(connected), key=number_order)
        return Asked(
            clients=tuple(line[: seats + self.settings.spares]),
            seats=seats,
            connected=frozenset(connected),
            absent=tuple(absent),
            known=len(self.history.sizes),
            share=share,
            least=least,
        )

    def record(self, asked: Asked, replies: Mapping[str, Reply], before: np.ndarray, after: Arrays) -> None:
        """Keep a round: first its model, then its line; then delete the models that nobody needs any more."""
        model = self.store.models.write(after)
        self.history.add_round(past_round(asked, replies, before, flat(after), self.history.sizes, model))
        self.checkpoints.after_round()
        self.tidy()

    def went_back(self, request: OpenRequest) -> tuple[Node, Issued]:
        """Where a request goes back to, and its certificate; what a killed process began is done to its end."""
        done = roll_back_of(self.store.log, self.history, request)
        if done is None:
            done = self._roll_back(request)
        self.tidy()  # what came after the cut knows the clients
        return done

    def tidy(self) -> None:
        """Delete the models that nobody needs any more."""
        self.store.models.keep_only(self.checkpoints.wanted())

    def _roll_back(self, request: OpenRequest) -> tuple[Node, Issued]:
        """Go back to the last model that the noise can hide the clients of, and add the noise."""
        certificate, history, stored = self.settings.certificate, self.history, self.store.stored()
        counted = (self.checkpoints.rules, self.checkpoints.factor, self.checkpoints.longest)
        psi = history.psi(covered(certificate, request.clients, history.forgotten), *counted)
        node = self.checkpoints.usable(psi, stored)
        issued = issue(self.checkpoints, certificate, node, request.clients, history.forgotten)
        cut = self.store.models.read(history.digest(node))
        start = self.store.models.write(self._with_noise(cut, request.number))
        log = note_roll_back(self.store.log, request, node, issued, start)
        history.grow(node, request.clients, start, log)
        self.checkpoints.start_again(self.store.stored())
        return node, issued

    def _with_noise(self, model: Arrays, number: int) -> Arrays:
        """A model plus normal noise of standard deviation sigma on each weight, in the order of its arrays."""
        sigma, size = self.settings.certificate.sigma, sum(part.size for part in model.values())
        noise = self._noise(size, number)  # [P] float64
        found, first = {}, 0
        for name, part in model.items():
            own = noise[first : first + part.size].reshape(part.shape).astype(part.dtype)
            found[name] = (part + np.asarray(sigma * own, dtype=part.dtype)).astype(part.dtype)
            first += part.size
        return found

    def _noise(self, size: int, number: int) -> np.ndarray:
        """Standard normal numbers: from the system, or from keys as in the suite. [P] float64"""
        seed = self.settings.noise_seed
        if seed is None:
            return np.random.default_rng(secrets.randbits(256)).standard_normal(size)
        return request_keys(seed, number).fold("noise").normal(size)[0].numpy()


def refuse_open(request: OpenRequest | None) -> None:
    """Refuse to train on while a request waits."""
    if request is not None:
        names = ", ".join(request.clients)
        raise SifuError(f"request {request.number} (clients {names}) is not answered yet: call forget with it first")
