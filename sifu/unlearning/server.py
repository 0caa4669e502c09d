"""The server as a method sees it: it trains the remaining clients, counts the cost, and ends by the stop rule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from sifu.certificate.rules import round_factor
from sifu.config.certificate import Certificate
from sifu.config.optimiser import Optimiser
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.cohort import shard_members
from sifu.federation.engine import Engine
from sifu.federation.local.loss import Loss
from sifu.federation.packing import Runner
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment, Work
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.hardware.upload import upload
from sifu.unlearning.asked import Asked, Training, places
from sifu.unlearning.asked_rounds import AskedRounds, only_in
from sifu.unlearning.past_round import PastRound
from sifu.unlearning.permission import Permission
from sifu.unlearning.recovery import Recovery
from sifu.unlearning.request import Request
from sifu.unlearning.server_data import ServerData


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
        self._engine, self._request, self.scenario = engine, request, scenario
        self._permission = Permission(method, shape, forgotten_data, server_data, oracle)
        self._recovery = Recovery(engine, request, stop, scenario, progress, runner or engine.run, spares)
        self._asked = AskedRounds(engine, request, stop, scenario.stop.max_rounds)
        nothing = torch.zeros(len(request.remain), dtype=torch.int64)
        self._spent = Work(nothing, nothing, nothing)
        self._counted: Tensor | None = None
        self._trained: list[Segment] = []
        self._drawn: list[Tensor] = []

    @property
    def spent(self) -> Work:
        """The cost of everything that was trained so far for this request."""
        spent = self._spent
        parts = (spent.rounds, spent.client_steps, spent.comm_floats, spent.at_the_server)
        return Work(*(part.clone() for part in parts))

    @property
    def has_budget(self) -> bool:
        """Whether client steps are limited, so that recovery may end before its own rule says."""
        return self._recovery.stop.client_steps is not None

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
        self._permission.check_model(start, "recover")
        segment = self._recovery.of_everyone(start, keys, self._spent, at_most, counted, optimiser)
        if counted is not None:
            self._counted = counted + segment.rounds
        return self._paid(segment)

    def recover_by_oracle(self, start: Tensor, keys: Keys, initial: Tensor) -> Segment:
        """As `recover`, until the test accuracy is that of a model that was retrained from `initial` [S, P].

        Nobody has that model, nor may look at the test set: for repeating code that does (sifu/unlearning/oracle.py).
        The oracle costs nothing; the rounds of recovery do. A method must declare it (`Method.oracle`).
        """
        self._permission.check_model(start, "recover_by_oracle")
        self._permission.check_oracle()
        return self._paid(self._recovery.by_oracle(start, keys, self._spent, initial))

    def recover_shards(self, start: Tensor, keys: Keys, shards: Tensor) -> Segment:
        """FedAvg from `start` [S, P] on the remaining clients of some `shards` [S, k] alone; as `recover`.

        The stop rule is asked of the answers of all models together, on the data of all remaining clients. Seeds whose
        shards have no client do not train.
        """
        self._permission.check_model(start, "recover_shards")
        all_shards = self._permission.shards(self.scenario.federation, "trains")
        members = shard_members(self._request.remain, all_shards) & shards.cpu()[..., None]  # [S, k, C]
        return self._paid(self._recovery.of_shards(start, keys, self._spent, members))

    def shards_of(self, clients: Tensor) -> Tensor:
        """Which shards have any of `clients` [S, C]. [S, k] bool"""
        shards = self._permission.shards(self.scenario.federation, "asks for")
        return shard_members(clients, shards).any(2)

    def hold(self, start: Tensor, keys: Keys) -> Segment:
        """The model as it is, without a single round; `done` where it meets the target."""
        self._permission.check_model(start, "hold")
        return self._paid(self._recovery.of_nobody(start, keys))

    def _paid(self, segment: Segment) -> Segment:
        """A recovery, counted and remembered."""
        self._spent = self._spent + self._recovery.work(segment)
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
        if forgotten:
            self._permission.check_forgotten()
        self._permission.check_steps(local_steps, self.scenario.federation)
        past = past.only(self._request.remain | (self._request.forget & forgotten))
        past, result, work = self._asked.ask_again(weights, past, local_steps, self._spent)
        self._spent = self._spent + work
        return past, result

    def ask_forgotten(self, start: Tensor, keys: Keys, *, seeds: Tensor | None = None, **training: Any) -> Asked:
        """The clients to forget now train from `start` [S, P]. A method must declare it (`assumptions.forgotten_data`).

        `training`: how, each with FedAvg's own as default: `loss`, `optimiser`, `steps` or `epochs`, `batch_size`, and
        a hook `after` each step, which may move the weights and end a client's training (sifu/unlearning/asked.py).
        Steps and communication are counted; a seed without budget for all steps is left out: nobody trains in it. So is
        one in which the scenario's maximum of rounds was asked for already.
        `seeds` [S] bool: only these are asked.
        """
        self._permission.check_forgotten()
        cohort = only_in(seeds, places(self._request.forget))
        return self._ask(start, keys, cohort, Training(**training), "ask_forgotten")

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
        if same_round:
            self._permission.check_same_round(self._asked.is_open(start))
        cohort = only_in(seeds, places(self._request.remain) if everyone else self._asked.draw(keys))
        return self._ask(start, keys, cohort, Training(**training), "ask_remaining", same_round=same_round)

    def _ask(
        self, start: Tensor, keys: Keys, cohort: Tensor, training: Training, asked: str, *, same_round: bool = False
    ) -> Asked:
        self._permission.check_model(start, asked)
        found, work = self._asked.ask(start, keys, cohort, training, self._spent, same_round=same_round)
        self._spent = self._spent + work
        return found

    def train_here(self, start: Tensor, keys: Keys, **training: Any) -> Tensor:
        """Train from `start` [S, P] on the server's own examples, as `ask_forgotten` does: no client takes part. [S, P]

        A method must declare it (`assumptions.server_data`). The steps are counted apart (`Work.server_steps`).
        """
        self._permission.check_model(start, "train_here")
        own = self._permission.server_clients(self._engine)
        weights, work = self._asked.ask_server(start, keys, own, Training(**training))
        self._spent = self._spent + work
        return weights

    @property
    def data(self) -> ServerData:
        """The server's own examples, copies. A method must declare it (`assumptions.server_data`)."""
        return ServerData.of(self._permission.server_clients(self._engine))

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
