"""Variants that an audit asks after the same trainings: their models in both worlds, and the rows of their counts."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from sifu.certificate.attack import Attack, Loss, Sample, choose_attack
from sifu.certificate.audit import most_provable, proved_epsilon, verdict
from sifu.certificate.noise import actual_guarantee
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.progress import show_progress
from sifu.federation.shared_data import SharedEngine
from sifu.federation.training import Progress
from sifu.stages.audit_counts import Count, StoredCounts
from sifu.stages.audit_plan import AuditPlan, Target
from sifu.stages.block import Block
from sifu.unlearning.counterfactual import measured_at
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Promise
from sifu.unlearning.sequence import Answer, answer_requests, target_rule
from sifu.unlearning.worlds import Asker, both_worlds, train_models

_STRICT = 5  # models whose strict epsilon is counted and whose alpha is measured
_EXAMPLES = 500  # of the forgotten clients, whose loss an attack may look at
Rows = list[dict[str, Any]]


class Key(NamedTuple):
    """One row of the table."""

    variant: str
    who: str
    request: int


class Claim(NamedTuple):
    """What is claimed for a row, with the noise that is added last."""

    promise: Promise | None
    num_forgotten: int
    sigma: float
    delta: float


class Models(NamedTuple):
    """Models of both worlds for a row, and what is claimed of them."""

    claim: Claim
    sample: Sample


@dataclass
class AuditedGroup:
    """Variants that are asked after the same trainings."""

    block: Block
    plan: AuditPlan
    names: tuple[str, ...]
    scenario: Scenario
    engine: SharedEngine
    batch: int  # models trained at once
    stored: StoredCounts

    @cached_property
    def start(self) -> Tensor:
        """The initial model of the seed. [P]"""
        return self.engine.initial(Keys.of(self.block.seeds[:1], self.engine.clients.images.device))[0]

    def rows(self) -> Rows:
        claims, attacks = self._choose()
        counts = self._count(attacks, range(self.plan.models))
        open_cases = {key: attacks[key] for key in attacks if self._goes_on(key, claims[key], counts[key])}
        if open_cases and self.plan.more_models:
            more = self._count(open_cases, range(self.plan.models, self.plan.more_models))
            counts |= {key: counts[key].joined(more[key]) for key in open_cases}
        truths = {key: truth for name in self.names for key, truth in self._truths(name, claims).items()}
        return [self._row(key, claims[key], attacks[key].statistic, counts[key], truths[key]) for key in attacks]

    def _goes_on(self, key: Key, claim: Claim, count: Count) -> bool:
        """Whether the worlds were told apart without an error, but too few models were counted to refute the claim.

        Where nothing is promised to all of the clients together, there is no claim that more models could refute.
        """
        if claim.promise is None or count.hits < count.models or count.alarms:
            return False
        if self._covered(key, claim.promise, claim.num_forgotten) < claim.num_forgotten:
            return False
        return most_provable(count.models, claim.delta) <= claim.promise.epsilon

    def _choose(self) -> tuple[dict[Key, Claim], dict[Key, Attack]]:
        """What is claimed, and the attack on it, from models that are not counted."""
        parts: dict[Key, list[Sample]] = {}
        claims: dict[Key, Claim] = {}
        for numbers in _batches(range(self.plan.choosing), self.batch):
            for key, (claim, sample) in self._worlds("choose", numbers, None).items():
                parts.setdefault(key, []).append(sample)
                claims.setdefault(key, claim)
        attacks = {}
        for key, samples in parts.items():
            sample, claim = Sample(*(torch.cat(models) for models in zip(*samples, strict=True))), claims[key]
            loss = self._loss(key)
            attacks[key] = choose_attack(sample, claim.sigma, loss, self.plan.models, claim.delta)
        return claims, attacks

    def _count(self, attacks: dict[Key, Attack], models: range) -> dict[Key, Count]:
        """Hits and false alarms of each attack among new models."""
        counts = {key: Count(0, 0, 0) for key in attacks}
        for numbers in _batches(models, self.batch):

            def make(numbers: range = numbers) -> dict[str, Count]:
                found = {}
                for key, (_, sample) in self._worlds("count", numbers, set(attacks)).items():
                    hits, alarms = attacks[key].count(sample.joined, sample.never, self._loss(key))
                    found[str(key)] = Count(len(numbers), hits, alarms)
                return found

            name = f"{numbers.start} {numbers.stop} {self.block.seeds[0]} {self._identity(attacks)}"
            found = self.stored.get(name, make)
            counts = {key: count.joined(found[str(key)]) for key, count in counts.items()}
        return counts

    def _identity(self, attacks: dict[Key, Attack]) -> str:
        """The attacks in words: counts of others are not used again."""
        settings = [repr(self.plan.methods[name]) for name in self.names]
        numbers = [(key, a.statistic, float(a.vector.double().sum()), a.threshold) for key, a in attacks.items()]
        return f"{settings} {numbers}"

    def _worlds(self, purpose: str, numbers: range, wanted: set[Key] | None) -> dict[Key, Models]:
        """Models of both worlds for each row that is `wanted` (None: all)."""
        label = f"audit {self.block.name}: {purpose} {numbers.start}-{numbers.stop - 1}"
        found: dict[Key, Models] = {}
        with show_progress(f"{label}, trainings", self.scenario.stop.max_rounds) as progress:
            lineage = self._trained(purpose, numbers, progress)
        for name in self.names:
            with show_progress(f"{label}, answers of {name}", self.scenario.stop.max_rounds) as progress:
                asker = Asker(self.plan.methods[name], self.scenario, self._keys(purpose, numbers), progress)
                for target in self.plan.targets:
                    keys = [Key(name, target.who, number) for number in target.requests]
                    after = [key.request for key in keys if wanted is None or key in wanted]
                    if after:
                        found |= self._answered(asker, lineage, name, target, after, clear=purpose == "choose")
        return found

    def _answered(
        self, asker: Asker, lineage: Lineage, name: str, target: Target, after: list[int], *, clear: bool
    ) -> dict[Key, Models]:
        """The models of one variant after the requests `after`."""
        found = {}
        try:
            for worlds in both_worlds(asker, lineage, target.forget, after, clear=clear):
                claim = self._claim(worlds.promise, worlds.num_forgotten)
                found[Key(name, target.who, worlds.request)] = Models(claim, worlds.sample)
        except MethodRefused as reason:
            raise MethodRefused(f"{name} is refused in {self.block.name}: {reason}") from None
        return found

    def _trained(self, purpose: str, numbers: range, progress: Progress | None) -> Lineage:
        engine = self.engine.sized(len(numbers))
        return train_models(engine, self.scenario, self.start, self._keys(purpose, numbers), progress)

    def _keys(self, purpose: str, numbers: range) -> Keys:
        """A key for each model: all but the partition and the initial model depends on it."""
        device = self.engine.clients.images.device
        seed = Keys.of([self.block.seeds[0]] * len(numbers), device)
        return seed.fold("audit", purpose, torch.arange(numbers.start, numbers.stop, device=device))

    def _claim(self, promise: Promise | None, num_forgotten: int) -> Claim:
        certificate = self.scenario.certificate
        if promise is None:
            return Claim(None, num_forgotten, 0.0, certificate.delta)
        sigma = 0.0 if promise.noise == "rounds" else float(promise.sigma.double().mean())
        return Claim(promise, num_forgotten, sigma, promise.delta)

    def _loss(self, key: Key) -> Loss:
        """The loss of models on the data of the clients that a row is about."""
        target = next(target for target in self.plan.targets if target.who == key.who)
        forgotten = torch.stack(target.forget[: key.request]).any(0)  # [C]
        clients = self.engine.single.clients
        which = clients.real()[0] & forgotten.to(clients.size.device)[:, None]  # [C, n]
        images, labels = clients.images[0][which][:_EXAMPLES], clients.labels[0][which][:_EXAMPLES]

        def loss(models: Tensor) -> Tensor:
            logits = (self.engine.model.logits(model.to(images.device), images) for model in models)
            return torch.stack([cross_entropy(one, labels).cpu() for one in logits])

        return loss

    def _truths(self, name: str, claims: dict[Key, Claim]) -> dict[Key, tuple[float | None, float | None]]:
        """Epsilon strictly counted, and with alpha as it was measured: medians over some models."""
        found: dict[Key, tuple[float | None, float | None]] = {}
        numbers = range(min(_STRICT, self.plan.choosing))
        lineage, keys = self._trained("choose", numbers, None), self._keys("choose", numbers).fold("unlearn")
        for target in self.plan.targets:
            forget = [mask.expand(len(numbers), -1) for mask in target.forget[: max(target.requests)]]
            rule = target_rule(self.scenario)
            answers = answer_requests(self.plan.methods[name], lineage, forget, self.scenario, rule, keys)
            for request in target.requests:
                key = Key(name, target.who, request)
                found[key] = _truth(answers[request - 1], claims[key].delta)
        return found

    def _covered(self, key: Key, promise: Promise, num_forgotten: int) -> int:
        """How many clients a promise covers together."""
        if promise.everyone:
            return num_forgotten
        target = next(target for target in self.plan.targets if target.who == key.who)
        return int(target.forget[key.request - 1].sum() if promise.covers is None else promise.covers.max())

    def _row(
        self, key: Key, claim: Claim, statistic: str, count: Count, truth: tuple[float | None, float | None]
    ) -> dict[str, Any]:
        promise, (models, hits, alarms) = claim.promise, count
        claimed = None if promise is None else promise.epsilon
        proved, limit = proved_epsilon(hits, alarms, models, claim.delta), most_provable(models, claim.delta)
        covers = None if promise is None else self._covered(key, promise, claim.num_forgotten)
        words = verdict(claimed, proved, limit, covered=covers is None or covers >= claim.num_forgotten)
        told = {"models": models, "statistic": statistic, "hits": hits, "alarms": alarms, "proved_epsilon": proved}
        return (
            {"scenario": self.block.name, "seed": self.block.seeds[0], **key._asdict()}
            | {"clients": claim.num_forgotten, "claimed_epsilon": claimed, "delta": claim.delta}
            | {"covers": covers}
            | {"strict_epsilon": truth[0], "measured_epsilon": truth[1]}
            | told
            | {"most_provable": limit, "verdict": words}
        )


def _truth(answer: Answer, delta: float) -> tuple[float | None, float | None]:
    """Epsilon for all clients forgotten so far, as the worlds differ in them: by strict Psi, and by alpha where it is
    measured; medians over models.
    """
    promise, worth = answer.unlearned.promise, answer.worth
    if promise is None or worth is None or delta <= 0:
        return None, None
    strict = _median_epsilon(worth.everyone_psi, promise.sigma, delta)
    if worth.alpha is None:
        return strict, None
    lineage, node = answer.before, answer.unlearned.node
    if promise.noise == "end":
        lineage = lineage.grow(node, answer.unlearned.segment)
        node = lineage.end
    everyone = answer.before.segments[0].available & ~answer.request.remain
    return strict, _median_epsilon(measured_at(lineage, node, everyone), promise.sigma, delta)


def _median_epsilon(distance: Tensor, sigma: Tensor, delta: float) -> float:
    epsilon, _ = actual_guarantee(1.0, delta, distance, sigma.double().cpu())
    return statistics.median(epsilon.tolist())


def _batches(models: range, size: int) -> Iterator[range]:
    for start in range(models.start, models.stop, size):
        yield range(start, min(start + size, models.stop))
