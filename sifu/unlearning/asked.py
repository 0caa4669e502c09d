"""Local training that a method asks for outside of recovery: of the clients to forget, of remaining ones, or at the
server itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser, gradients_of
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.errors import MethodError
from sifu.federation.aggregation import mean
from sifu.federation.cohort import cohort_sizes, cohort_weights
from sifu.federation.engine import Engine
from sifu.federation.local.guided import AfterStep, GuidedTrainer, Step
from sifu.federation.local.loss import Loss
from sifu.hardware.upload import upload


class Asked(NamedTuple):
    """What the clients that were asked gave back."""

    cohort: Tensor  # [S, m] client numbers, -1: empty place
    local: Tensor  # [S, m, P] their weights; where the place is empty, those that were sent
    mean: Tensor  # [S, P] FedAvg's mean of them; what was sent where there is nobody
    examples: Tensor  # [S, m] how many examples each has
    steps: Tensor  # [S, m] local steps that each took


@dataclass(frozen=True)
class Training:
    """How clients are to train: by default as in a round of FedAvg."""

    loss: Loss | None = None
    optimiser: Optimiser | None = None
    steps: int | None = None
    epochs: float | None = None  # instead of steps: each client takes ceil(epochs x examples / batch size)
    batch_size: int | None = None
    after: AfterStep | None = None
    scale: Tensor | None = None  # [S] factor of the loss in each seed

    def __post_init__(self) -> None:
        count = self.steps if self.epochs is None else self.epochs
        if self.steps is not None and self.epochs is not None:
            raise MethodError("a local training has `steps` or `epochs`, not both")
        if count is not None and count <= 0:
            raise MethodError(f"a local training takes more than {count} steps or epochs")
        if self.batch_size is not None and self.batch_size < 1:
            raise MethodError(f"a batch has at least one example, not {self.batch_size}")

    @property
    def gradients(self) -> int:
        """Gradients of a batch that a step takes."""
        return gradients_of(self.optimiser)

    @property
    def is_ordinary(self) -> bool:
        """Whether it is what the engine's own trainer does."""
        return self.scale is None and self == Training(steps=self.steps)

    def limits(self, examples: Tensor, engine: Engine) -> Tensor:
        """Steps at most of clients with so many `examples` [S, m]; 0 where there are none. [S, m]"""
        federation = engine.federation
        if self.epochs is None:
            steps = federation.local_steps if self.steps is None else self.steps
            return torch.full_like(examples, steps).where(examples > 0, 0)
        batch = examples.clamp(max=self.batch_size or federation.batch_size).clamp(min=1)
        return (self.epochs * examples.double() / batch - 1e-9).ceil().long()  # float32 would round 0.3 x 10 up to 4


def train_clients(
    engine: Engine, clients: Clients, start: Tensor, cohort: Tensor, keys: Keys, training: Training
) -> Asked:
    """`cohort` [S, m] of `clients` train from `start` [S, P], all seeds at once, with batches drawn from `keys`."""
    cohort = upload(cohort, start.device)
    examples = cohort_sizes(cohort, clients.size)
    limit = training.limits(examples, engine)  # [S, m]
    longest = max(1, int(limit.max())) if limit.numel() else 1
    federation = replace(
        engine.federation,
        local_steps=longest,
        batch_size=training.batch_size or engine.federation.batch_size,
        batches=engine.federation.batches if training.is_ordinary else "epochs",
    )
    batcher = engine.batcher_for(clients, federation, training.optimiser)
    seeds = torch.arange(len(start), device=start.device)
    batches = batcher.draw(keys, torch.zeros_like(seeds), cohort, examples)
    if training.is_ordinary and clients is engine.clients:
        local, steps = engine.using(None).trainer(start, seeds, cohort, batches), limit
    else:
        optimiser = training.optimiser or engine.using(None).own_optimiser
        loss = training.loss or engine.loss
        trainer = GuidedTrainer(engine.model, clients, optimiser, loss, engine.workers, training.scale)
        local, steps = trainer.train(start, seeds, cohort, batches, limit, training.after)
    average = mean(start, local, cohort_weights(examples, local.dtype))
    return Asked(cohort.cpu(), local, average, examples.cpu(), steps.cpu())


def places(mask: Tensor) -> Tensor:
    """The clients of a mask [S, C] in ascending order, -1 where there are fewer than in another seed. [S, m]"""
    order = torch.argsort((~mask).long(), dim=1, stable=True)[:, : int(mask.sum(1).max())]
    return torch.where(mask.gather(1, order), order, -1)


def projected(weights: Tensor, centre: Tensor, radius: Tensor) -> Tensor:
    """Weights [q, P], moved to the ball of `radius` [q] around `centre` [q, P] where they are outside of it."""
    away = weights - centre
    factor = (radius.to(away.dtype) / away.norm(dim=-1).clamp(min=1e-30)).clamp(max=1.0)
    return torch.where((factor < 1)[:, None], centre + away * factor[:, None], weights)


def in_ball(centre: Tensor, radius: Tensor, stop: Callable[[Step], Tensor] | None = None) -> AfterStep:
    """A hook: after every step back into the ball of `radius` [S] around `centre` [S, P]; ends where `stop` says so."""

    def after(step: Step) -> tuple[Tensor, Tensor]:
        weights = projected(step.weights, centre[step.row], radius.to(centre.device)[step.row])
        ends = torch.zeros_like(step.row, dtype=torch.bool) if stop is None else stop(step._replace(weights=weights))
        return weights, ends

    return after
