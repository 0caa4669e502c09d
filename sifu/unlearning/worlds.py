"""Two worlds of an audit: clients took part and were forgotten, or never took part. Many models of each.

World 1: a method answers requests to a training of all clients. World 0: the same lineage without the forgotten clients
(sifu/unlearning/counterfactual.py), with the same draws but for the last noise, which is new. A certificate compares
these, draw by draw; so it must hold for both worlds as a whole, and a count that exceeds it refutes it. Compared is
the model right after its noise, as recovery only processes it further; the final model where nothing is promised. Where
every round adds noise, two trainings are compared, each of which ends by its own stop rule.
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
from sifu.unlearning.counterfactual import without
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
        more["server_data"] = self.method.assumptions.server_data
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
    lineage, forgotten = trained, torch.zeros_like(forget[0])
    for number, clients in enumerate(forget[: max(after)], start=1):
        mask = clients.expand(len(trained.kept[0]), -1)  # [S, C]
        forgotten = forgotten | clients
        goes_on = number < max(after)  # then the recovery is needed, whether it is attacked or not
        answer = asker.recovered(lineage, mask) if goes_on else asker.released(lineage, mask)
        if number in after:
            sample = _sample(asker, lineage, answer, forgotten.expand_as(mask), clear=clear)
            yield Worlds(number, sample, answer.promise, int(forgotten.sum()))
        if goes_on:
            lineage = lineage.grow(answer.node, answer.segment)


def _sample(asker: Asker, lineage: Lineage, answer: Unlearned, forgotten: Tensor, *, clear: bool) -> Sample:
    """The models after an answer; without `clear` the released ones stand for those before their noise."""
    noise, keys = _noise(answer), asker.keys.fold("never")
    if noise == "rounds" and answer.promise is not None:
        parts = _private(asker, lineage, forgotten, keys)
    elif noise == "start":
        joined, began = answer.segment.start, _before_noise(lineage, answer)
        never = _never(lineage, answer, forgotten, asker.progress)
        if answer.promise is not None and answer.promise.blurred is not None:
            began = answer.promise.blurred.to(joined.device)
        parts = (joined, _blurred(never, _sigma(answer), keys), began if clear else joined, never)
    else:
        grown = lineage.grow(answer.node, answer.segment)
        never = without(grown, forgotten, asker.progress)
        parts = (answer.weights, _blurred(never, _sigma(answer), keys), answer.segment.final, never)
    return Sample(*(part.cpu().nan_to_num(0.0, 0.0, 0.0) for part in parts))  # a model that diverged tells little


def _before_noise(lineage: Lineage, answer: Unlearned) -> Tensor:
    """The model that the noise was added to. [S, P]"""
    model = lineage.at(answer.node.round, answer.node.branch, dropped=True)
    if answer.initial is None:
        return model
    return torch.where((answer.node.branch < 0).to(model.device)[:, None], answer.initial.to(model.device), model)


def _never(lineage: Lineage, answer: Unlearned, forgotten: Tensor, progress: Progress | None) -> Tensor:
    """The same model if the clients `forgotten` [S, C] had never been there; an initial model knows nobody. [S, P]"""
    model = without(lineage.cut(answer.node), forgotten, progress)
    began = _before_noise(lineage, answer)
    return torch.where((answer.node.branch < 0).to(model.device)[:, None], began, model)


def _private(asker: Asker, lineage: Lineage, forgotten: Tensor, keys: Keys) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Noise in every round: the training, which recovery only processes further, and one that never had the clients.

    Each ends by its own stop rule: the rounds of one would tell of the noise of the other.
    """
    start, joined = lineage.segments[0].start[0], lineage.segments[0].final
    engine, device = lineage.engine, lineage.engine.clients.images.device
    never = train_models(engine, asker.scenario, start.to(device), keys, asker.progress, ~forgotten)
    final = never.segments[0].final
    return joined, final, joined, final


def train_models(
    engine: Engine,
    scenario: Scenario,
    start: Tensor,
    keys: Keys,
    progress: Progress | None,
    clients: Tensor | None = None,
) -> Lineage:
    """A training to the target for each of `keys` [S], all from the same initial model `start` [P].

    `clients` [S, C]: who takes part; None: all.
    """
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    available = everyone if clients is None else clients.to(everyone.device)
    stop, models = Stop.at_target(scenario.stop, len(keys.state)), start.repeat(len(keys.state), 1)
    segment = engine.run(models, available, keys.fold("train"), stop, snapshot_every=_SNAPSHOTS, progress=progress)
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


def _sigma(answer: Unlearned) -> Tensor:
    """The noise of an answer; 0 where it promises nothing. [S] float64"""
    promise = answer.promise
    return torch.zeros(len(answer.node.round), dtype=torch.float64) if promise is None else promise.sigma.double().cpu()


def _no_recovery(request: Request) -> Stop:
    return Stop(None, 0, torch.zeros(len(request.remain), dtype=torch.int64))
