"""A Flower strategy that can forget clients: it wraps one that averages, such as FedAvg.

Training goes on as before, and the server writes down what SIFU needs: the products of the updates of every round,
and for each client the last model that may be gone back to (Fraboni et al. 2024). `forget` goes back, adds noise, and
trains on without the clients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from logging import INFO
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy
from flwr.supercore import log

from sifu.config.certificate import Certificate
from sifu.errors import ConfigError, SifuError
from sifu.flower.aggregate import Asked, Reply, addressed, flat, in_order, read_reply, to_arrays, to_record
from sifu.flower.answer import Answer, Issued
from sifu.flower.checks import clients_needed, refuse_certificate, refuse_no_mean, refuse_strategy
from sifu.flower.history import Node
from sifu.flower.models import Arrays
from sifu.flower.remaining_grid import RemainingGrid
from sifu.flower.requests import (
    OpenRequest,
    named,
    note_answer,
    note_request,
    open_request,
    refuse_request,
)
from sifu.flower.running import Running
from sifu.flower.sampling import number_order
from sifu.flower.session import Session, Settings, refuse_open
from sifu.flower.store import Store, opened

Evaluate = Callable[[int, ArrayRecord], MetricRecord | None]
BRANCH, ROUND = "unlearning-branch", "unlearning-round"  # in the config of every training message


class Unlearning(Strategy):
    """Adds `forget` to a strategy that averages.

    `certificate`: what is promised to forgotten clients, and how it is counted. `store`: a folder for all that has to
    survive the server. `spares`: clients a round that are trained and not averaged, for strict certificates with
    partial participation. `seed`: of the sampling. `local_steps`: K, needed where the certificate's contraction is not
    1. `longest_update`: a bound on the length of a client's update, if clients clip. `noise_seed`: for tests alone; who
    knows it can take the noise off. `identity_timeout`: seconds that a new node has to say who it is, three times.
    `identity_at_once`: how many new nodes are asked together.
    """

    def __init__(
        self,
        strategy: Strategy,
        *,
        certificate: Certificate,
        store: str | Path,
        spares: int = 0,
        seed: int = 0,
        local_steps: int | None = None,
        longest_update: float | None = None,
        noise_seed: int | None = None,
        identity_timeout: float = 60.0,
        identity_at_once: int = 8,
    ) -> None:
        refuse_strategy(strategy)
        refuse_certificate(certificate, local_steps)
        if spares < 0:
            raise ConfigError("spares", spares, "0 or more")
        if identity_at_once < 1:
            raise ConfigError("identity_at_once", identity_at_once, "1 or more")
        self.strategy, self.folder = strategy, Path(store)
        self.identity_timeout, self.identity_at_once = identity_timeout, identity_at_once
        longest = math.inf if longest_update is None else longest_update
        factor = certificate.contraction ** (local_steps or 1)
        self.settings = Settings(certificate, spares, seed, factor, longest, noise_seed)
        self.overhead = 0.0  # the wrapper's share of the time of the last `start` or `forget`
        self._running: Running | None = None

    # what a server calls

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Evaluate | None = None,
    ) -> Result:
        """Train until `num_rounds` rounds lead to the current model; a store that has some of them goes on."""
        with opened(self.folder) as store:
            refuse_open(open_request(store.log))
            session = Session(store, self.settings)
            session.begin(to_arrays(initial_arrays))
            rounds = num_rounds - session.history.depth()
            return self._train(session, grid, rounds, timeout, train_config, evaluate_config, evaluate_fn)

    def forget(
        self,
        clients: Sequence[object] | str,
        *,
        grid: Grid,
        num_rounds: int,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Evaluate | None = None,
    ) -> Answer:
        """Forget `clients`: go back, add noise, and recover with `num_rounds` rounds without them.

        Called again with the same clients after the server was killed, it goes on where it was.
        """
        ids = named(clients)
        with opened(self.folder) as store:
            request = self._taken(store, ids)
            session = Session(store, self.settings)
            done = session.went_back(request)
            rounds = num_rounds - store.history.end[1]
            result = self._train(session, grid, rounds, timeout, train_config, evaluate_config, evaluate_fn)
            return self._answered(session, request, done, result)

    @property
    def open_request(self) -> tuple[str, ...]:
        """The clients of a request that was not answered yet, such as when the server was killed; else nothing."""
        request = open_request(Store(self.folder).log)
        return () if request is None else request.clients

    @property
    def psi(self) -> dict[str, float]:
        """Psi of each remaining client alone, of the current model and by the certificate's rules."""
        session = Session(Store(self.folder), self.settings)
        return {client: session.checkpoints.psi.get(client, 0.0) for client in session.history.remaining}

    @property
    def answered(self) -> list[tuple[str, ...]]:
        """The clients of each request that was answered, in order."""
        return [tuple(body["clients"]) for body in Store(self.folder).log.of_kind("answer")]

    @property
    def arrays(self) -> ArrayRecord:
        """The current model of the store."""
        store = Store(self.folder)
        if not store.history.branches:
            raise SifuError(f"nothing was trained in {self.folder}")
        return to_record(store.models.read(store.history.digest(store.history.end)))

    def _taken(self, store: Store, clients: tuple[str, ...]) -> OpenRequest:
        """The request in the log: the one that waits, if it is the same, or a new one."""
        waiting = open_request(store.log)
        if waiting is not None and waiting.clients == clients:
            return waiting
        refuse_open(waiting)
        refuse_request(clients, store.history, clients_needed(self.strategy))
        return note_request(store.log, store.history, clients, self.settings.certificate)

    def _answered(self, session: Session, request: OpenRequest, done: tuple[Node, Issued], result: Result) -> Answer:
        (cut, issued), history, store = done, session.history, session.store
        session.tidy()  # also where no round of recovery was left to do
        rounds, model = history.end[1], history.digest(history.end)
        digest = note_answer(store.log, history, request, rounds, model)
        return Answer(request.number, request.clients, cut, rounds, issued, model, digest, result)

    def _train(
        self,
        session: Session,
        grid: Grid,
        rounds: int,
        timeout: float,
        train_config: ConfigRecord | None,
        evaluate_config: ConfigRecord | None,
        evaluate_fn: Evaluate | None,
    ) -> Result:
        """`rounds` more rounds from the current model, with Flower's own loop."""
        done, start = session.history.depth(), to_record(session.model)
        shifted = None if evaluate_fn is None else lambda number, arrays: evaluate_fn(done + number, arrays)
        running = self._running = Running(session, self._remaining(grid, session))
        try:
            configs = (train_config, evaluate_config)
            result = super().start(running.grid, start, max(rounds, 0), timeout, *configs, shifted)
        finally:
            self._running = None
        self.overhead = running.clock.share
        log(INFO, "Unlearning took %.2f%% of the time of %s rounds", 100 * self.overhead, max(rounds, 0))
        if rounds > 0 and session.history.depth() == done:
            raise SifuError("no client sent a model that could be averaged: the training is where it was")
        result.arrays = to_record(session.model)
        return result

    def _remaining(self, grid: Grid, session: Session) -> RemainingGrid:
        return RemainingGrid(
            grid, session.history, self.identity_timeout, self.identity_at_once, clients_needed(self.strategy)
        )

    # what Flower's loop calls

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """The inner strategy's messages, to the first clients in line and to the spares."""
        running = self._now()
        with running.clock.counted():
            return self._invited(running, arrays, config)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The inner strategy's average of the seats; spares are only looked at."""
        running = self._now()
        asked, before = running.asked, running.before
        if asked is None or before is None:
            return None, None
        with running.clock.counted():
            return self._averaged(running, asked, before, replies)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """The inner strategy's messages; forgotten clients are not on the grid that it sees."""
        running = self._now()
        return self.strategy.configure_evaluate(running.session.history.depth(), arrays, config, running.grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """The inner strategy's metrics of the remaining clients."""
        running = self._now()
        remaining = running.grid.from_remaining(replies)
        return self.strategy.aggregate_evaluate(running.session.history.depth(), remaining)

    def summary(self) -> None:
        """Log what the strategy does."""
        certificate = self.settings.certificate
        text = "\t├──> Unlearning: epsilon %g, delta %g, sigma %g (%s), store %s"
        log(INFO, text, certificate.epsilon, certificate.delta, certificate.sigma, certificate.preset, self.folder)
        self.strategy.summary()

    def _now(self) -> Running:
        if self._running is None:
            raise SifuError("call `start` or `forget` of the Unlearning strategy, not its single steps")
        return self._running

    def _invited(self, running: Running, arrays: ArrayRecord, config: ConfigRecord) -> list[Message]:
        """The messages of a round, and who they are for."""
        history = running.session.history
        config[BRANCH], config[ROUND] = history.end
        with running.clock.counted(-1):
            messages = list(self.strategy.configure_train(history.depth() + 1, arrays, config, running.grid))
            connected = running.grid.clients()
        running.before, running.asked = to_arrays(arrays), None
        if not messages:
            return []
        first, seats = messages[0], len(messages)
        if any(message.content is not first.content and message.content != first.content for message in messages):
            name = type(self.strategy).__name__
            raise SifuError(f"{name} sends clients different messages: they cannot be chosen again")
        running.asked = running.session.invite(connected, seats, *self._seats_follow(len(connected), seats))
        return [addressed(first, connected[client]) for client in running.asked.clients]

    def _averaged(
        self, running: Running, asked: Asked, before: Arrays, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The average of the seats, and what is kept of the round."""
        sent = self._by_client(running, replies)
        usable = self._usable(sent, before)
        seats = sorted((client for client in asked.clients[: asked.seats] if client in sent), key=number_order)
        messages = [sent[client] for client in seats if client in usable or sent[client].has_error()]
        with running.clock.counted(-1):
            arrays, metrics = self.strategy.aggregate_train(running.session.history.depth() + 1, messages)
        averaged = [usable[client] for client in seats if client in usable]
        if arrays is None or not averaged:
            return None, metrics
        result = in_order(to_arrays(arrays), before, f"the result of {type(self.strategy).__name__}")
        after = {name: part.astype(before[name].dtype, copy=False) for name, part in result.items()}
        weights = [reply.weight for reply in averaged]
        refuse_no_mean(self.strategy, flat(after), [reply.model for reply in averaged], weights)
        running.session.record(asked, usable, flat(before), after)
        return to_record(after), metrics

    def _seats_follow(self, connected: int, seats: int) -> tuple[float | None, int]:
        """The inner strategy's rule for the number of seats, as FedAvg has it; (None, 0): the number is fixed."""
        share, least = (getattr(self.strategy, name, None) for name in ("fraction_train", "min_train_nodes"))
        if share is None or least is None or max(int(connected * share), least) != seats:
            return None, 0
        return float(share), int(least)

    def _by_client(self, running: Running, replies: Iterable[Message]) -> dict[str, Message]:
        """Replies of clients that were asked in this round; all others are dropped."""
        asked = set() if running.asked is None else set(running.asked.clients)
        found = {running.grid.client_of(reply.metadata.src_node_id): reply for reply in replies}
        return {client: reply for client, reply in found.items() if client is not None and client in asked}

    def _usable(self, sent: dict[str, Message], before: Arrays) -> dict[str, Reply]:
        key = getattr(self.strategy, "weighted_by_key", "num-examples")
        found = {client: read_reply(message, client, before, key) for client, message in sent.items()}
        return {client: reply for client, reply in found.items() if reply is not None}
