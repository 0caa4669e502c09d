"""What the SIFU paper's released code does, in plain loops: one seed, one client after another, lists for arrays.

It shares only the keyed draws with the suite: who is sampled, which examples a step uses, the noise. Everything else is
kept as that code keeps it: the server's lists, their order, and the places where they are one entry off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn

from sifu.config.federation import Federation
from sifu.core.keys import Keys
from tests import reference


@dataclass(frozen=True)
class Plain:
    """A federation of one seed, whose clients all have as many examples, and its requests."""

    module: nn.Module
    start: Tensor  # [P] theta^0
    images: Tensor  # [C, n, ...]
    labels: Tensor  # [C, n]
    federation: Federation
    keys: Keys  # of the seed
    requests: list[list[int]]
    rounds: list[int]  # of the training, and of the recovery from each request
    epsilon: float

    @property
    def count(self) -> int:
        return len(self.images)

    @property
    def noise_factor(self) -> float:
        """The noise's sigma over the sensitivity; delta is 1 / number of clients."""
        return math.sqrt(2 * math.log(1.25 * self.count)) / self.epsilon

    def key(self, request: int) -> Keys:
        """The key of the recovery from a request; of the training for 0."""
        return self._asked(request).fold("recovery") if request else self.keys.fold("train")

    def noise(self, request: int) -> Tensor:
        """Standard normal noise for the model of a request. [P]"""
        return self._asked(request).fold("noise").normal(len(self.start)).flatten().to(self.start.dtype)

    def _asked(self, request: int) -> Keys:
        return self.keys.fold("unlearn").fold("request", request)

    def kept(self, request: int) -> list[int]:
        """The clients that remain after a request."""
        gone = [client for clients in self.requests[:request] for client in clients]
        return [client for client in range(self.count) if client not in gone]

    def sampled(self, request: int, number: int) -> list[int]:
        """The clients of round `number` after a request."""
        count = self.federation.clients_per_round
        return reference.sample_clients(self.key(request), number, self.kept(request), count)

    def local(self, weights: Tensor, request: int, number: int, client: int, steps: int | None = None) -> Tensor:
        """A client's weights after its steps in that round, or after the first `steps` of them. [P]"""
        size, federation = self.images.shape[1], self.federation
        batches = reference.client_batches(self.key(request), number, client, size, federation)[:steps]
        module = reference.load_flat(self.module, weights)
        local = reference.train_client(module, self.images[client], self.labels[client], batches, federation)
        return reference.flat(local)


def mean(models: list[Tensor]) -> Tensor:
    """The code's aggregation: every model of the round counts as much."""
    return sum(models[1:], models[0]) / len(models)


@dataclass(frozen=True)
class Done:
    """What was done at one request."""

    start: Tensor  # [P] the model that recovery began with
    final: Tensor  # [P]
    cut: tuple[int, int] = (-1, -1)  # branch and round that the code says it cuts at
    checkpoint: int = -1  # round of the model that it restores
    psi: float = math.nan  # of the model that noise is added to
    sigma: float = 0.0
    counted: int = 0  # rounds, as the code counts them


@dataclass
class Server:
    """The server of SIFU and Last: Psi of every branch, a checkpoint for each client, and the walk over cut nodes."""

    plain: Plain
    psi_star: float
    walk: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    psi: list[list[list[float]]] = field(default_factory=list)  # branch, round, client
    best: list[list[tuple[int, Tensor]]] = field(default_factory=list)  # list, client: round and model

    def train(self, start: Tensor, request: int) -> Tensor:
        """A new branch: FedAvg, Psi from zero on, and each client's last model with Psi <= Psi*."""
        weights, kept = start, self.plain.kept(request)
        share = 1 / len(kept)
        self.psi.append([[0.0] * self.plain.count])
        for number in range(self.plain.rounds[request]):
            sampled = self.plain.sampled(request, number)
            local = {client: self.plain.local(weights, request, number, client) for client in sampled}
            weights = mean(list(local.values()))
            row = list(self.psi[request][-1])
            for client, model in local.items():
                row[client] += share / (1 - share) * float((weights - model).norm())
            self.psi[request].append(row)
            for client in kept:
                if row[client] <= self.psi_star:
                    self.best[request][client] = (number + 1, weights)
        return weights

    def add_checkpoints(self, weights: Tensor) -> None:
        self.best.append([(0, weights)] * self.plain.count)

    def worst(self, branch: int, number: int, clients: list[int]) -> float:
        return max(self.psi[branch][number][client] for client in clients)

    def cut(self, clients: list[int]) -> tuple[int, int]:
        """Walk over the cut nodes: the first one that fails is cut again, else the newest branch."""
        branch = len(self.psi) - 1
        for place, (older, number) in enumerate(self.walk):
            if self.worst(older, number, clients) > self.psi_star:
                branch, self.walk = older, self.walk[:place]
                break
        nodes = range(len(self.psi[branch]))
        above = [number for number in nodes if self.worst(branch, number, clients) > self.psi_star]
        moved = [number for number in nodes if self.worst(branch, number, clients) > 0]
        cut = branch, above[0] - 1 if above else moved[-1]
        if self.walk[-1] != cut:
            self.walk.append(cut)
        return cut


def sifu(plain: Plain, sigma: float) -> list[Done]:
    """SIFU's answers to all requests."""
    server, done = Server(plain, sigma / plain.noise_factor), []
    server.add_checkpoints(plain.start)
    server.train(plain.start, 0)
    for request, clients in enumerate(plain.requests, start=1):
        branch, number = server.cut(clients)
        client = max(clients, key=server.psi[branch][number].__getitem__)  # the first of several
        checkpoint, model = server.best[branch][client]
        noisy = model + sigma * plain.noise(request)
        server.add_checkpoints(noisy)
        server.add_checkpoints(noisy)  # twice: from the second request on, this list is behind the branches
        psi = server.worst(branch, checkpoint, clients)
        done.append(Done(noisy, server.train(noisy, request), (branch, number), checkpoint, psi, sigma))
    return done


def last(plain: Plain) -> list[Done]:
    """Last: noise for the largest Psi of any client in any round of the newest branch."""
    server, done = Server(plain, math.inf), []
    server.add_checkpoints(plain.start)
    weights = server.train(plain.start, 0)
    for request in range(1, len(plain.requests) + 1):
        psi = max(max(row) for row in server.psi[-1])
        sigma = psi * plain.noise_factor
        noisy = weights + sigma * plain.noise(request)
        server.add_checkpoints(noisy)
        weights = server.train(noisy, request)
        done.append(Done(noisy, weights, psi=psi, sigma=sigma))
    return done


@dataclass
class Accumulators:
    """The server of FedAccum and FedEraser: a model for each request to come, all of which it knows beforehand."""

    models: list[Tensor]
    removed: list[list[int]]  # never shortened, while `models` loses its first entry at every request

    @staticmethod
    def of(plain: Plain) -> Accumulators:
        removed = [
            [client for clients in plain.requests[: number + 1] for client in clients]
            for number in range(len(plain.requests))
        ]
        return Accumulators([plain.start for _ in plain.requests], removed)

    def update(self, sampled: list[int], new_model: Callable[[Tensor, list[int]], Tensor]) -> None:
        """`new_model(model, clients)` for each accumulated model, if any sampled client is not removed for it."""
        for place, (model, removed) in enumerate(zip(self.models, self.removed, strict=False)):
            clients = [client for client in sampled if client not in removed]
            if clients:
                self.models[place] = new_model(model, clients)


def fed_accum(plain: Plain) -> list[Done]:
    """FedAccum: an accumulated model is the average of the last round, without the removed clients."""
    accumulators, weights, done = Accumulators.of(plain), plain.start, []
    for request, rounds in enumerate(plain.rounds):
        if request:
            weights = accumulators.models.pop(0)
        begun = weights
        for number in range(rounds):
            sampled = plain.sampled(request, number)
            local = {client: plain.local(weights, request, number, client) for client in sampled}
            weights = mean(list(local.values()))

            def average(_: Tensor, clients: list[int], local: dict[int, Tensor] = local) -> Tensor:
                return mean([local[client] for client in clients])

            accumulators.update(sampled, average)
        done.append(Done(begun, weights))
    return done[1:]


def fed_eraser(plain: Plain, least: int, every: int = 2) -> list[Done]:
    """FedEraser: an accumulated model goes on with half of the steps (rounded down) in one round of `every`.

    The training takes its rounds. A recovery is at its target from the beginning, so that it ends as soon as `least`
    rounds are counted.
    """
    steps = plain.federation.local_steps // 2
    accumulators, weights, done = Accumulators.of(plain), plain.start, []
    first = total = 0  # the count that a phase begins with; the real rounds so far
    for request in range(len(plain.rounds)):
        if request:
            weights = accumulators.models.pop(0)
        begun, counted = weights, first
        while counted < (least if request else plain.rounds[0]):
            number = counted - first
            sampled = plain.sampled(request, number)

            def calibrated(model: Tensor, clients: list[int], request: int = request, number: int = number) -> Tensor:
                return mean([plain.local(model, request, number, client, steps) for client in clients])

            weights = mean([plain.local(weights, request, number, client) for client in sampled])
            if counted % every == 0:
                accumulators.update(sampled, calibrated)
            counted += 1
        done.append(Done(begun, weights, counted=counted))
        total += counted - first
        first = int(total / (every * plain.federation.local_steps / steps))
    return done[1:]


def dp(plain: Plain, clip: float) -> list[Done]:
    """DP: updates shortened to `clip`, and noise on the average of every round, in the training and in recovery."""
    sigma = 2 * clip / plain.count * plain.noise_factor
    weights, done = plain.start, []
    for request, rounds in enumerate(plain.rounds):
        begun = weights
        for number in range(rounds):
            sampled = plain.sampled(request, number)
            total = weights * 0
            for client in sampled:
                update = plain.local(weights, request, number, client) - weights
                total = total + update / len(sampled) / max(float(update.norm()) / clip, 1.0)
            noise = plain.key(request).fold("privacy", number).normal(len(weights)).flatten()
            weights = weights + total + sigma * noise.to(weights.dtype)
        done.append(Done(begun, weights, sigma=sigma))
    return done[1:]
