"""Two worlds of an audit: clients took part and were forgotten, or never took part. Many models of each.

World 1: a method answers requests to a training of all clients. World 0: the same rounds, branch by branch, without the
forgotten clients from the first round on; the next client in line takes a forgotten client's seat. Round numbers and
noise of a model of world 0 are those of its partner in world 1, so that they tell nothing. Compared is the model right
after its noise, as recovery only processes it further; the final model where no noise is added at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.certificate.attack import Sample
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.unlearning.answer_check import checked_answer
from sifu.unlearning.history import History
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Promise, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.sequence import StopRule, target_rule
from sifu.unlearning.server import Server

_SNAPSHOTS = 20  # rounds between two: a model in between is replayed


class Worlds(NamedTuple):
    """Models of both worlds after a request, and what is promised for it."""

    request: int
    sample: Sample
    promise: Promise | None
    num_forgotten: int  # clients, this request's included


@dataclass(frozen=True)
class Asker:
    """A method, the scenario that it works in, and the keys of its models [S]."""

    method: Method
    scenario: Scenario
    keys: Keys
    progress: Progress | None = None

    def ask(self, lineage: Lineage, clients: Tensor, rule: StopRule) -> Unlearned:
        """The method's answer to the next request, `clients` [S, C], without any count of what it is worth."""
        number, needs = len(lineage.segments), self.method.assumptions.forgotten_data
        request = Request.of(number, clients, lineage.segments[-1].available)
        name, shape = f"method {self.method.name}", lineage.segments[0].start.shape
        more = {"method": name, "shape": shape, "forgotten_data": needs}
        server = Server(lineage.engine, request, rule(request), self.scenario, self.progress, **more)  # type: ignore[arg-type]
        history = History(lineage, self.method.keeps, name)
        keys = self.keys.fold("unlearn").fold("request", number)
        return checked_answer(self.method, self.method.unlearn(history, request.copy(), server, keys), lineage, server)

    def recovered(self, lineage: Lineage, clients: Tensor) -> Unlearned:
        """The answer with its recovery to the target."""
        return self.ask(lineage, clients, target_rule(self.scenario))

    def released(self, lineage: Lineage, clients: Tensor) -> Unlearned:
        """The answer as far as it is attacked: without recovery where the noise comes before it."""
        answer = self.ask(lineage, clients, _no_recovery)
        return answer if _noise(answer) == "start" else self.recovered(lineage, clients)


def both_worlds(
    asker: Asker, trained: Lineage, forget: Sequence[Tensor], after: Collection[int], *, clear: bool = True
) -> Iterator[Worlds]:
    """The models of both worlds after each of the requests `after` (1: the first); `forget` [C] are the requests.

    `clear`: also the models before their last noise; those of world 1 must be replayed.
    """
    lineage, sigmas = trained, [torch.zeros(len(trained.kept[0]), dtype=torch.float64)]
    forgotten = torch.zeros_like(forget[0])
    for number, clients in enumerate(forget[: max(after)], start=1):
        mask = clients.expand(len(trained.kept[0]), -1)  # [S, C]
        forgotten = forgotten | clients
        if number in after:
            answer = asker.released(lineage, mask)
            sample = _sample(asker, lineage, answer, sigmas, forgotten, clear=clear)
            yield Worlds(number, sample, answer.promise, int(forgotten.sum()))
        if number < max(after):
            answer = asker.recovered(lineage, mask)
            lineage, sigmas = lineage.grow(answer.node, answer.segment), [*sigmas, _sigma(answer, "start")]


def _sample(
    asker: Asker, lineage: Lineage, answer: Unlearned, sigmas: list[Tensor], forgotten: Tensor, *, clear: bool
) -> Sample:
    """The models after an answer; without `clear` the released ones stand for those before their noise."""
    noise = _noise(answer)
    grown = lineage.grow(answer.node, answer.segment)
    joined, joined_clear = answer.weights, answer.segment.final
    if noise == "start":
        joined = answer.segment.start
        joined_clear = lineage.at(answer.node.round, answer.node.branch, dropped=True) if clear else joined
    branches = Branches(grown, [*sigmas, _sigma(answer, "start")], _sigma(answer, "end"))
    keys = asker.keys.fold("never")
    never, never_clear = branches.without(forgotten, keys, recovers=noise != "start", progress=asker.progress)
    parts = (joined, never, joined_clear, never_clear)
    return Sample(*(part.cpu().nan_to_num(0.0, 0.0, 0.0) for part in parts))  # a model that diverged tells little


@dataclass(frozen=True)
class Branches:
    """How a lineage came about: its rounds and the noise at the start of each branch [S]; `end`: after the last."""

    lineage: Lineage
    sigmas: list[Tensor]
    end: Tensor

    def without(
        self, forgotten: Tensor, keys: Keys, *, recovers: bool, progress: Progress | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same without the clients `forgotten` [C] from the start: models with and before their last noise [S, P].

        `recovers`: with the rounds of the last branch.
        """
        lineage, engine = self.lineage, self.lineage.engine
        model = clear = lineage.start
        last = len(lineage.segments) - 1
        for branch, (segment, kept, sigma) in enumerate(zip(lineage.segments, lineage.kept, self.sigmas, strict=True)):
            stream, clear = keys.fold("branch", branch), model
            model = _blurred(model, torch.where(kept >= 0, sigma, 0.0), stream)
            if branch < last or recovers:
                stop = Stop(None, 0, kept.clamp(min=0))
                available = (segment.available & ~forgotten).to(model.device)
                run = engine.run(model, available, stream.fold("train"), stop, progress=progress)
                model = clear = run.final.to(model.device)
        if recovers:
            model = _blurred(model, self.end, keys.fold("end"))
        return model, clear


def train_models(engine: Engine, scenario: Scenario, start: Tensor, keys: Keys, progress: Progress | None) -> Lineage:
    """A training of all clients to the target for each of `keys` [S], all from the same initial model `start` [P]."""
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    stop, models = Stop.at_target(scenario.stop, len(keys.state)), start.repeat(len(keys.state), 1)
    segment = engine.run(models, everyone, keys.fold("train"), stop, snapshot_every=_SNAPSHOTS, progress=progress)
    return Lineage.of(engine, segment)


def _blurred(model: Tensor, sigma: Tensor, keys: Keys) -> Tensor:
    """Models [S, P] with noise of `sigma` [S]."""
    if not bool((sigma != 0).any()):
        return model
    noise = keys.fold("noise").normal(model.shape[1])  # [S, P] float64
    return model + (sigma.to(noise.device)[:, None] * noise).to(model.dtype)


def _noise(answer: Unlearned) -> str:
    """When the method adds its noise; `rounds` also where it promises nothing: only its final model is given out."""
    return "rounds" if answer.promise is None else answer.promise.noise


def _sigma(answer: Unlearned, noise: str) -> Tensor:
    """The noise of an answer if it is added at that time, else 0. [S] float64"""
    promise = answer.promise
    if promise is None or promise.noise != noise:
        return torch.zeros(len(answer.node.round), dtype=torch.float64)
    return promise.sigma.double().cpu()


def _no_recovery(request: Request) -> Stop:
    return Stop(None, 0, torch.zeros(len(request.remain), dtype=torch.int64))
