"""Two worlds of an audit: clients took part and were forgotten, or never took part. Many models of each.

World 1: a method answers requests to a training of all clients. World 0: the same lineage without the forgotten clients
(sifu/unlearning/counterfactual.py), with the same draws but for the last noise, which is new: as much as the method
really adds, whatever it promises (sifu/unlearning/added_noise.py). A certificate compares these, draw by draw; so it
must hold for both worlds as a whole, and a count that exceeds it refutes it. Compared is the model right after its
noise, as recovery only processes it further; the final model where nothing is promised. Where every round adds noise,
two trainings are compared, each with the noise of its own rounds, and each of which ends by its own stop rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from sifu.certificate.attack import Sample
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.unlearning.added_noise import SameRecovery, before_noise, new_noise, node_model, with_noise
from sifu.unlearning.answer_check import checked_answer
from sifu.unlearning.counterfactual import without
from sifu.unlearning.history import History
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Promise, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.sequence import StopRule, target_rule

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

    def ask(self, lineage: Lineage, clients: Tensor, rule: StopRule, known: Segment | None = None) -> Unlearned:
        """The method's answer to the next request, `clients` [S, C], without any count of what it is worth.

        `known`: the recovery of the answer that it gave before; now it has other keys.
        """
        number, needs = len(lineage.segments), self.method.assumptions.forgotten_data
        request = Request.of(number, clients, lineage.segments[-1].available)
        name, shape = f"method {self.method.name}", lineage.segments[0].start.shape
        more = {"method": name, "shape": shape, "forgotten_data": needs}
        more["server_data"] = self.method.assumptions.server_data
        more["oracle"] = self.method.oracle
        server = SameRecovery(lineage.engine, request, rule(request), self.scenario, self.progress, **more)  # type: ignore[arg-type]
        server.known = known
        history = History(lineage, self.method.keeps, name)
        keys = self.keys.fold("unlearn").fold("request", number)
        keys = keys if known is None else keys.fold("other noise")
        return checked_answer(self.method, self.method.unlearn(history, request.copy(), server, keys), lineage, server)

    def recovered(self, lineage: Lineage, clients: Tensor) -> Unlearned:
        """The answer with its recovery to the target."""
        return self.ask(lineage, clients, target_rule(self.scenario))

    def released(self, lineage: Lineage, clients: Tensor) -> Unlearned:
        """The answer as far as it is attacked: its recovery only where what it ends with is compared."""
        answer = self.ask(lineage, clients, _no_recovery)
        return self.recovered(lineage, clients) if _compared(answer) == "final" else answer

    def noise(self, lineage: Lineage, clients: Tensor, answer: Unlearned) -> Tensor:
        """A new draw of the noise that an answer to the request `clients` [S, C] has. [S, P]"""
        if answer.promise is None:
            return torch.zeros_like(answer.weights)
        rule = target_rule(self.scenario) if answer.promise.noise == "end" else _no_recovery
        return new_noise(lineage, answer, self.ask(lineage, clients, rule, answer.segment))


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
            sample = _sample(asker, lineage, answer, mask, forgotten.expand_as(mask), clear=clear)
            yield Worlds(number, sample, answer.promise, int(forgotten.sum()))
        if goes_on:
            lineage = lineage.grow(answer.node, answer.segment)


def _sample(
    asker: Asker, lineage: Lineage, answer: Unlearned, clients: Tensor, forgotten: Tensor, *, clear: bool
) -> Sample:
    """The models after an answer to the request `clients` [S, C]; all who are `forgotten` [S, C] differ.

    Without `clear` the released models stand for those before their noise.
    """
    compared = _compared(answer)
    if compared == "trainings":
        parts = _private(asker, lineage, forgotten)
    elif compared == "start":
        never = _never(lineage, answer, forgotten, asker.progress)
        joined, began = with_noise(answer), before_noise(lineage, answer) if clear else with_noise(answer)
        parts = (joined, never.cpu() + asker.noise(lineage, clients, answer), began, never)
    else:
        never = without(lineage.grow(answer.node, answer.segment), forgotten, asker.progress)
        parts = (answer.weights, never.cpu() + asker.noise(lineage, clients, answer), answer.segment.final, never)
    return Sample(*(part.cpu().nan_to_num(0.0, 0.0, 0.0) for part in parts))  # a model that diverged tells little


def _never(lineage: Lineage, answer: Unlearned, forgotten: Tensor, progress: Progress | None) -> Tensor:
    """The node's model if the clients `forgotten` [S, C] had never been there; an initial model knows nobody. [S, P]"""
    model = without(lineage.cut(answer.node), forgotten, progress)
    return torch.where((answer.node.branch < 0).to(model.device)[:, None], node_model(lineage, answer), model)


def _private(asker: Asker, lineage: Lineage, forgotten: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Noise in every round: the training, which recovery only processes further, and one that never had the clients.

    Each ends by its own stop rule: the rounds of one would tell of the noise of the other.
    """
    start, joined = lineage.segments[0].start[0], lineage.segments[0].final
    engine, device, keys = lineage.engine, lineage.engine.clients.images.device, asker.keys.fold("never")
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


def _compared(answer: Unlearned) -> Literal["start", "final", "trainings"]:
    """Which models are compared: recovery's first or last ones, or the trainings, where each round has noise.

    A method that promises nothing gives out its last model alone.
    """
    if answer.promise is None or answer.promise.noise == "end":
        return "final"
    return "trainings" if answer.promise.noise == "rounds" else "start"


def _no_recovery(request: Request) -> Stop:
    return Stop(None, 0, torch.zeros(len(request.remain), dtype=torch.int64))
