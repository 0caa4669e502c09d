"""The server as a method sees it: it trains the remaining clients, counts the cost, and ends by the stop rule."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import Tensor

from sifu.certificate.rules import round_factor
from sifu.config.certificate import Certificate
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.errors import MethodError
from sifu.federation.engine import Engine
from sifu.federation.packing import Runner
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment, Work, count_work
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.hardware.upload import upload
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.request import Request


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
        spares: int = 0,  # clients a round that are trained for the method and not averaged
    ) -> None:
        self._engine, self._request, self._stop, self._progress = engine, request, stop, progress
        self._run = runner or engine.run
        self.scenario, self._method, self._shape = scenario, method, shape
        self._forgotten_data, self._spares = forgotten_data, spares
        nothing = torch.zeros(len(request.remain), dtype=torch.int64)
        self._spent = Work(nothing, nothing, nothing)
        self._counted: Tensor | None = None
        self._trained: list[Segment] = []
        self._drawn: list[Tensor] = []

    @property
    def spent(self) -> Work:
        """The cost of everything that was trained so far for this request."""
        return Work(*(part.clone() for part in (self._spent.rounds, self._spent.client_steps, self._spent.comm_floats)))

    @property
    def counted_rounds(self) -> Tensor:
        """Rounds as the method's own code counts them; those of `spent` where it has no count of its own. [S]"""
        return (self._spent.rounds if self._counted is None else self._counted).clone()

    def recover(
        self, start: Tensor, keys: Keys, at_most: Tensor | None = None, counted: Tensor | None = None
    ) -> Segment:
        """FedAvg on the remaining clients from `start` [S, P], for `at_most` [S] rounds if that is given.

        What was asked before, such as a calibration, counts towards the minimum of the stop rule, so that a model
        which meets the target by then is not trained any more; the maximum is one of recovery alone.
        `counted` [S]: as how many rounds the method's own code counts what it asked before. They count towards the
        minimum and the maximum of the stop rule, and in `counted_rounds`; never in the cost.
        """
        self._refuse_others(start, "recover")
        stop = self._stop.after(self._spent.client_steps)
        if at_most is not None:
            rounds = stop.max_rounds.minimum(at_most)
            stop = Stop(stop.target, stop.min_rounds, rounds, schedule=stop.schedule)
        if counted is None:
            return self._train(start, keys, stop.crediting(self._spent.rounds))
        segment = self._train(start, keys, stop.counting(counted))
        self._counted = counted + segment.rounds
        return segment

    def hold(self, start: Tensor, keys: Keys) -> Segment:
        """The model as it is, without a single round; `done` where it meets the target."""
        self._refuse_others(start, "hold")
        return self._train(start, keys, Stop(self._stop.target, 0, torch.zeros_like(self._stop.max_rounds)))

    def _refuse_others(self, start: object, asked: str) -> None:
        """Refuse anything but a model for every seed."""
        if self._shape is not None and (not isinstance(start, Tensor) or start.shape != self._shape):
            found = f"{list(start.shape)}" if isinstance(start, Tensor) else type(start).__name__
            words = f"a model for each seed, a Tensor of shape {list(self._shape)}"
            raise MethodError(f"{self._method} gave `server.{asked}` {found}, not {words}")

    def _train(self, start: Tensor, keys: Keys, stop: Stop) -> Segment:
        segment = self._run(
            start,
            self._request.remain.to(start.device),
            keys.fold("recovery"),
            stop,
            snapshot_every=self.scenario.snapshot_every,
            progress=self._progress,
        )
        self._spent = self._spent + count_work(segment, self.scenario.federation.local_steps, self._spares)
        self._trained.append(segment)
        return segment

    def new_start(self, keys: Keys) -> Tensor:
        """A new initial model for every seed, drawn as the training's own was, from other keys. [S, P]"""
        drawn = self._engine.model.init(keys.fold("new start"))
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
        past = past.only(self._request.remain | (self._request.forget & forgotten))
        affords = self._stop.affords(self._spent.client_steps, past.visits * local_steps)  # [S]
        past = past.only(affords[:, None].expand_as(self._request.remain))
        visits = past.visits
        self._spent = self._spent + Work.of((visits > 0).long(), visits, local_steps, weights.shape[1])
        return past, train_again(self._engine, weights, past, local_steps)

    def average(self, weights: Tensor, local: Tensor, past: PastRound) -> Tensor:
        """FedAvg's mean of clients' weights `local` [S, m, P]; `weights` [S, P] where no client took part."""
        return self._engine.weighted_mean(weights, local, upload(past.cohort, weights.device))

    def layers(self, weights: Tensor) -> list[SimpleNamespace]:
        """The layers of models [..., P], first to last: `layers(w)[0].weight` is a view [..., out, in]; writing to it
        changes `weights`.
        """
        return self._engine.model.layers(weights)

    def layer_norms(self, rows: Tensor) -> Tensor:
        """The length of each layer's weight and bias in each row. [..., P] -> [..., parameters]"""
        return self._engine.model.layer_norms(rows)

    def spread_layers(self, values: Tensor) -> Tensor:
        """A value for each weight and bias of the layers, given to each number in it. [..., parameters] -> [..., P]"""
        return self._engine.model.spread_layers(values)

    def round_factor(self, certificate: Certificate) -> float:
        """B^K of a certificate: the factor of a round on a distance between two models."""
        return round_factor(certificate, self.scenario.federation)
