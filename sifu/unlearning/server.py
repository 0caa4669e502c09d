"""The server as a method sees it: it trains the remaining clients, counts the cost, and ends by the stop rule."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sifu.certificate.rules import round_factor
from sifu.config.certificate import Certificate
from sifu.config.optimiser import Optimiser, gradients_of
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Clients, Status
from sifu.errors import MethodError, MethodRefused
from sifu.federation.cohort import draw_cohort, shard_members, shard_seats
from sifu.federation.engine import Engine
from sifu.federation.local.loss import Loss
from sifu.federation.packing import Runner
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment, Work, count_work
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.hardware.upload import upload
from sifu.unlearning.asked import Asked, Training, places, train_clients
from sifu.unlearning.oracle import ask_oracle
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.request import Request


class ServerData(NamedTuple):
    """The examples that the server holds itself, none of them a client's or of the test set."""

    images: Tensor  # [S, n, channels, height, width]
    labels: Tensor  # [S, n]


class Server:
    """All training goes through here. A method cannot choose who takes part, when it is done, or what it costs."""

    def __init__(
        self,
        engine: Engine,
        request: Request,
        stop: Stop,
        scenario: Scenario,
        progress: Progress | None = None,
        runner: Runner | None = None,  # None: the engine's own
        *,
        method: str = "this method",  # who asks, for messages
        shape: torch.Size | None = None,  # [S, P] of the models that it may give; None: unknown
        forgotten_data: bool = False,  # whether the method declares that it asks the clients to forget
        server_data: bool = False,  # whether it declares that it needs data at the server
        spares: int = 0,  # clients a round that are trained for the method and not averaged
        oracle: bool = False,  # whether it declares that it asks an oracle
    ) -> None:
        self._engine, self._request, self._stop, self._progress = engine, request, stop, progress
        self._run = runner or engine.run
        self.scenario, self._method, self._shape = scenario, method, shape
        self._forgotten_data, self._server_data, self._spares = forgotten_data, server_data, spares
        self._oracle = oracle
        nothing = torch.zeros(len(request.remain), dtype=torch.int64)
        self._spent = Work(nothing, nothing, nothing)
        self._asked_rounds = nothing
        self._counted: Tensor | None = None
        self._trained: list[Segment] = []
        self._drawn: list[Tensor] = []
        self._asked = 0  # calls that drew batches of their own
        self._open: tuple[Tensor, Tensor] | None = None  # the last of them: what was sent [S, P], who trained [S] bool

    @property
    def spent(self) -> Work:
        """The cost of everything that was trained so far for this request."""
        spent = self._spent
        parts = (spent.rounds, spent.client_steps, spent.comm_floats, spent.at_the_server)
        return Work(*(part.clone() for part in parts))

    @property
    def counted_rounds(self) -> Tensor:
        """Rounds as the method's own code counts them; those of `spent` where it has no count of its own. [S]"""
        return (self._spent.rounds if self._counted is None else self._counted).clone()

    def recover(
        self,
        start: Tensor,
        keys: Keys,
        at_most: Tensor | None = None,
        counted: Tensor | None = None,
        optimiser: Optimiser | None = None,
    ) -> Segment:
        """FedAvg on the remaining clients from `start` [S, P], for `at_most` [S] rounds if that is given.

        What was asked before, such as a calibration, counts towards the minimum of the stop rule, so that a model
        which meets the target by then is not trained any more; the maximum is one of recovery alone.
        `counted` [S]: as how many rounds the method's own code counts what it asked before. They count towards the
        minimum and the maximum of the stop rule, and in `counted_rounds`; never in the cost.
        `optimiser`: of the clients, in place of the federation's SGD.
        """
        self._refuse_others(start, "recover")
        stop = self._stop.after(self._spent.client_steps).with_gradients(gradients_of(optimiser))
        if at_most is not None:
            stop = replace(stop, max_rounds=stop.max_rounds.minimum(at_most))
        if counted is None:
            return self._train(start, keys, stop.crediting(self._spent.rounds), optimiser)
        segment = self._train(start, keys, stop.counting(counted), optimiser)
        self._counted = counted + segment.rounds
        return segment

    def recover_by_oracle(self, start: Tensor, keys: Keys, initial: Tensor) -> Segment:
        """As `recover`, until the test accuracy is that of a model that was retrained from `initial` [S, P].

        Nobody has that model, nor may look at the test set: for repeating code that does (sifu/unlearning/oracle.py).
        The oracle costs nothing; the rounds of recovery do. A method must declare it (`Method.oracle`).
        """
        self._refuse_others(start, "recover_by_oracle")
        if not self._oracle:
            raise MethodError(f"{self._method} asks an oracle: set `oracle`")
        stop = self._stop.after(self._spent.client_steps)
        whole = stop if stop.client_steps is None else Stop.at_target(self.scenario.stop, len(start))  # of retraining
        found = ask_oracle(self._engine, initial, start, self._request.remain, keys, stop, whole)
        segment = self._train(start, keys, Stop(None, 0, found.rounds))
        if stop.must_reach:  # a budget is kept in any case
            ended = zip(segment.status, found.met.tolist(), strict=True)
            status = tuple(Status.NOT_REACHED if one == Status.DONE and not met else one for one, met in ended)
            segment = replace(segment, status=status)
            self._trained.append(segment)
        return segment

    def recover_shards(self, start: Tensor, keys: Keys, shards: Tensor) -> Segment:
        """FedAvg from `start` [S, P] on the remaining clients of some `shards` [S, k] alone; as `recover`.

        The stop rule is asked of the answers of all models together, on the data of all remaining clients. Seeds whose
        shards have no client do not train.
        """
        self._refuse_others(start, "recover_shards")
        federation, remain = self.scenario.federation, self._request.remain
        if federation.shards is None:
            raise MethodError(f"{self._method} trains shards, and the federation has none: give it a `training`")
        members = shard_members(remain, federation.shards) & shards.cpu()[..., None]  # [S, k, C]
        visits = members.sum(2).clamp(max=shard_seats(federation)).sum(1)  # [S] of a round
        stop = self._stop.after(self._spent.client_steps).costing(visits * federation.local_steps)
        stop = replace(stop.crediting(self._spent.rounds), max_rounds=stop.max_rounds.where(visits > 0, 0))
        return self._train(start, keys, stop, idle=(remain & ~members.any(1)).to(start.device))

    def shards_of(self, clients: Tensor) -> Tensor:
        """Which shards have any of `clients` [S, C]. [S, k] bool"""
        shards = self.scenario.federation.shards
        if shards is None:
            raise MethodError(f"{self._method} asks for shards, and the federation has none: give it a `training`")
        return shard_members(clients, shards).any(2)

    def hold(self, start: Tensor, keys: Keys) -> Segment:
        """The model as it is, without a single round; `done` where it meets the target."""
        self._refuse_others(start, "hold")
        return self._train(
            start, keys, replace(self._stop, min_rounds=0, max_rounds=torch.zeros_like(self._stop.max_rounds))
        )

    def _refuse_others(self, start: object, asked: str) -> None:
        """Refuse anything but a model for every seed."""
        if self._shape is not None and (not isinstance(start, Tensor) or start.shape != self._shape):
            found = f"{list(start.shape)}" if isinstance(start, Tensor) else type(start).__name__
            words = f"a model for each seed, a Tensor of shape {list(self._shape)}"
            raise MethodError(f"{self._method} gave `server.{asked}` {found}, not {words}")

    def _train(
        self, start: Tensor, keys: Keys, stop: Stop, optimiser: Optimiser | None = None, idle: Tensor | None = None
    ) -> Segment:
        given = {"optimiser": optimiser, "idle": idle}
        other: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        segment = self._run(
            start,
            self._request.remain.to(start.device),
            keys.fold("recovery"),
            stop,
            snapshot_every=self.scenario.snapshot_every,
            progress=self._progress,
            **other,
        )
        federation = self.scenario.federation
        work = count_work(segment, federation.local_steps, self._spares, federation.num_models)
        self._spent = self._spent + work
        self._trained.append(segment)
        return segment

    def new_start(self, keys: Keys) -> Tensor:
        """A new initial model for every seed, drawn as the training's own was, from other keys. [S, P]"""
        drawn = self._engine.initial(keys.fold("new start"))
        self._drawn.append(drawn.clone())
        return drawn

    def has_drawn(self, initial: Tensor) -> bool:
        """Whether a model is one that `new_start` gave, unchanged."""
        return any(torch.equal(initial, drawn) for drawn in self._drawn)

    def has_trained(self, segment: Segment) -> bool:
        """Whether a segment is one that this server trained, unchanged."""
        return any(segment is trained for trained in self._trained)

    def ask_again(
        self, weights: Tensor, past: PastRound, local_steps: int, *, forgotten: bool = False
    ) -> tuple[PastRound, Round]:
        """The remaining clients of a past round train again from `weights` [S, P], `local_steps` steps each, with the
        batches that they had in it. Seeds without budget for it, or without such clients, are left out.

        `forgotten`: the clients to forget now train, too. A method must declare it (`assumptions.forgotten_data`).
        """
        if forgotten and not self._forgotten_data:
            raise MethodError(f"{self._method} asks the clients to forget: set assumptions.forgotten_data")
        if not 1 <= local_steps <= self.scenario.federation.local_steps:
            most = self.scenario.federation.local_steps
            raise MethodError(f"{self._method} asks for {local_steps} steps of a past round; allowed: 1 to {most}")
        past = past.only(self._request.remain | (self._request.forget & forgotten))
        affords = self._stop.affords(self._spent.client_steps, past.visits * local_steps)  # [S]
        past = past.only(affords[:, None].expand_as(self._request.remain))
        visits = past.visits
        self._spent = self._spent + Work.of((visits > 0).long(), visits, local_steps, weights.shape[1])
        return past, train_again(self._engine, weights, past, local_steps)

    def ask_forgotten(self, start: Tensor, keys: Keys, *, seeds: Tensor | None = None, **training: Any) -> Asked:
        """The clients to forget now train from `start` [S, P]. A method must declare it (`assumptions.forgotten_data`).

        `training`: how, each with FedAvg's own as default: `loss`, `optimiser`, `steps` or `epochs`, `batch_size`, and
        a hook `after` each step, which may move the weights and end a client's training (sifu/unlearning/asked.py).
        Steps and communication are counted; a seed without budget for all steps is left out: nobody trains in it. So is
        one in which the scenario's maximum of rounds was asked for already.
        `seeds` [S] bool: only these are asked.
        """
        if not self._forgotten_data:
            raise MethodError(f"{self._method} asks the clients to forget: set assumptions.forgotten_data")
        cohort = places(self._request.forget)
        return self._ask(start, keys, _only(seeds, cohort), Training(**training), "ask_forgotten")

    def ask_remaining(
        self,
        start: Tensor,
        keys: Keys,
        *,
        same_round: bool = False,
        everyone: bool = False,
        seeds: Tensor | None = None,
        **training: Any,
    ) -> Asked:
        """A cohort of remaining clients, drawn as that of a round, trains from `start` [S, P]; as `ask_forgotten`.

        `same_round`: together with the clients that were asked last, from the same model, so that both are one round.
        `everyone`: all remaining clients instead of a cohort; all of them are paid for.
        """
        if same_round and (self._open is None or not torch.equal(self._open[0], start)):
            raise MethodError(f"{self._method}: a round has one model: `same_round` needs that which was sent last")
        remain = self._request.remain.to(keys.state.device)
        folded = keys.fold("asked cohort", self._asked)
        drawn = draw_cohort(folded, torch.zeros_like(keys.state), remain, self._engine.federation)
        cohort = _only(seeds, places(self._request.remain) if everyone else drawn.cpu())
        return self._ask(start, keys, cohort, Training(**training), "ask_remaining", same_round=same_round)

    def _ask(
        self, start: Tensor, keys: Keys, cohort: Tensor, training: Training, asked: str, *, same_round: bool = False
    ) -> Asked:
        self._refuse_others(start, asked)
        sizes = self._engine.clients.size.cpu().gather(1, cohort.clamp(min=0)).where(cohort >= 0, 0)
        steps = training.limits(sizes, self._engine).sum(1) * training.gradients  # [S] at most
        counted = self._open[1] if same_round and self._open is not None else torch.zeros_like(steps, dtype=torch.bool)
        left = counted | (self._asked_rounds < self.scenario.stop.max_rounds)  # [S]
        cohort = cohort.where((left & self._stop.affords(self._spent.client_steps, steps))[:, None], -1)
        found = train_clients(self._engine, self._engine.clients, start, cohort, self._fresh(keys), training)
        visits = (cohort >= 0).sum(1)  # [S]
        work = Work.of(((visits > 0) & ~counted).long(), visits, 0, start.shape[1])
        self._spent = self._spent + replace(work, client_steps=found.steps.sum(1) * training.gradients)
        self._asked_rounds = self._asked_rounds + work.rounds
        self._open = start.clone(), counted | (visits > 0)
        return found

    def train_here(self, start: Tensor, keys: Keys, **training: Any) -> Tensor:
        """Train from `start` [S, P] on the server's own examples, as `ask_forgotten` does: no client takes part. [S, P]

        A method must declare it (`assumptions.server_data`). The steps are counted apart (`Work.server_steps`).
        """
        self._refuse_others(start, "train_here")
        own, how = self._own_data(), Training(**training)
        only = torch.zeros(len(start), 1, dtype=torch.int64)
        found = train_clients(self._engine, own, start, only, self._fresh(keys), how)
        nothing = torch.zeros_like(self._spent.rounds)
        self._spent = self._spent + Work(nothing, nothing, nothing, found.steps.sum(1) * how.gradients)
        return found.mean

    def _fresh(self, keys: Keys) -> Keys:
        """Keys that no other call has."""
        self._asked += 1
        return keys.fold("asked", self._asked)

    @property
    def data(self) -> ServerData:
        """The server's own examples, copies. A method must declare it (`assumptions.server_data`)."""
        own = self._own_data()
        return ServerData(own.images[:, 0].clone(), own.labels[:, 0].clone())

    def _own_data(self) -> Clients:
        if not self._server_data:
            raise MethodError(f"{self._method} reads data at the server: set assumptions.server_data")
        if self._engine.server_data is None:
            raise MethodRefused("it needs data at the server: set partition.server_share")
        return self._engine.server_data

    @property
    def training_loss(self) -> Loss:
        """What clients minimise in a round of FedAvg."""
        return self._engine.loss

    @property
    def training_optimiser(self) -> Optimiser:
        """What clients step with in a round of FedAvg: the federation's SGD, unless the model brings another step."""
        return self._engine.using(None).own_optimiser

    def average(self, weights: Tensor, local: Tensor, past: PastRound) -> Tensor:
        """FedAvg's mean of clients' weights `local` [S, m, P]; `weights` [S, P] where no client took part."""
        return self._engine.weighted_mean(weights, local, upload(past.cohort, weights.device))

    def layers(self, weights: Tensor) -> list[SimpleNamespace]:
        """The layers of models [..., P], first to last: `layers(w)[0].weight` is a view [..., out, in]; writing to it
        changes `weights`.
        """
        return self._engine.model.layers(weights)

    def linear_layers(self, weights: Tensor) -> list[SimpleNamespace]:
        """As `layers`, the linear and convolution layers alone: `.weight` [..., out, in, ...] is theirs."""
        return self._engine.model.linear_layers(weights)

    def layer_norms(self, rows: Tensor) -> Tensor:
        """The length of each layer's weight and bias in each row. [..., P] -> [..., parameters]"""
        return self._engine.model.layer_norms(rows)

    def spread_layers(self, values: Tensor) -> Tensor:
        """A value for each weight and bias of the layers, given to each number in it. [..., parameters] -> [..., P]"""
        return self._engine.model.spread_layers(values)

    def round_factor(self, certificate: Certificate) -> float:
        """B^K of a certificate: the factor of a round on a distance between two models."""
        return round_factor(certificate, self.scenario.federation)


def _only(seeds: Tensor | None, cohort: Tensor) -> Tensor:
    """A cohort [S, m] that is empty but in `seeds` [S]; None: in all of them."""
    return cohort if seeds is None else cohort.where(seeds.cpu()[:, None], -1)
