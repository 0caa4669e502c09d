"""A round of FedAvg over all seeds and sampled clients at once. A seed's result depends on no other seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.config.federation import Federation, Privacy
from sifu.config.optimiser import Adaptive, Optimiser, own_sgd
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.aggregation import RowPrivacy, mean, private_mean
from sifu.federation.cohort import cohort_places, cohort_sizes, cohort_weights, draw_cohort
from sifu.federation.evaluation import Evaluator
from sifu.federation.local import LocalTrainer, local_trainer
from sifu.federation.local.batches import Batcher
from sifu.federation.local.guided import GuidedTrainer
from sifu.federation.local.loss import CrossEntropy, Loss, OwnLoss
from sifu.hardware.cuda_graph import Recorded
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel


class Round(NamedTuple):
    """The result of one round."""

    cohort: Tensor  # [R, m]
    local: Tensor  # [R, m, P] the clients' weights
    weights: Tensor  # [R, P] their average


@dataclass(frozen=True)
class Rounds:
    """Rounds of `model` on `clients`; `workers` on the CPU, None on a GPU."""

    model: FlatModel
    clients: Clients
    federation: Federation
    workers: Workers | None
    optimiser: Optimiser | None = field(default=None, kw_only=True)  # of the clients; None: the federation's SGD
    server_data: Clients | None = field(default=None, kw_only=True)  # the server's own examples, as of one client
    test_data: Clients | None = field(
        default=None, kw_only=True
    )  # for a stop by an oracle alone (unlearning/oracle.py)
    privacies: tuple[Privacy, ...] | None = field(
        default=None, kw_only=True
    )  # of each row of the clients' data, where they differ; None: the federation's

    @cached_property
    def loss(self) -> Loss:
        """What clients minimise."""
        own = self.model.own_loss
        return CrossEntropy() if own is None else OwnLoss(own)

    @cached_property
    def own_optimiser(self) -> Optimiser:
        """What clients step with in a round: `optimiser`, the model's own, or the federation's SGD."""
        sgd, brings = own_sgd(self.federation), self.model.own_optimiser
        return self.optimiser or (sgd if brings is None else brings(sgd))

    @cached_property
    def trainer(self) -> LocalTrainer:
        if self.optimiser is not None or self.model.own_loss is not None or self.model.own_optimiser is not None:
            return GuidedTrainer(self.model, self.clients, self.own_optimiser, self.loss, self.workers)
        return local_trainer(self.model, self.clients, self.federation, self.workers)

    @cached_property
    def batcher(self) -> Batcher:
        return self.batcher_for(self.clients, self.federation, self.optimiser)

    def batcher_for(self, clients: Clients, federation: Federation, optimiser: Optimiser | None) -> Batcher:
        """What draws batches of `clients`, with the keys that the model and an optimiser need."""
        draws_masks = self.model.draws_masks(tuple(clients.images.shape[3:]))
        draws_probes = isinstance(optimiser, Adaptive) and optimiser.curvature == "hutchinson"
        return Batcher.of(clients, federation, draws_masks=draws_masks, draws_probes=draws_probes)

    @cached_property
    def evaluator(self) -> Evaluator:
        return Evaluator(self.model, self.clients, self.workers)

    def round(self, weights: Tensor, seeds: Tensor, rounds: Tensor, available: Tensor, keys: Keys) -> Round:
        """One round from `weights` [R, P]; `seeds` [R] are rows of the clients' data, `rounds` [R] round numbers."""
        cohort = draw_cohort(keys, rounds, available, self.federation)
        return self.train_cohort(weights, seeds, rounds, cohort, keys)

    def train_cohort(
        self,
        weights: Tensor,
        seeds: Tensor,
        rounds: Tensor,
        cohort: Tensor,
        keys: Keys,
        local_steps: int | None = None,
        seats: int | None = None,
    ) -> Round:
        """A round with a given `cohort` [R, m]; empty places are -1. `local_steps`: fewer steps than K.

        `seats`: only the first so many places are averaged; the clients in the others train for nothing but a look.
        """
        steps = self.federation.local_steps if local_steps is None else local_steps
        same_size = (
            self.federation.sampling == "fixed"
        )  # a CUDA graph for each size of cohort would cost more than it saves
        train = self._recorded if same_size else self._train_cohort
        local, average = train(weights, seeds, rounds, cohort, keys.state, local_steps=steps, seats=seats)
        return Round(cohort, local, average)

    @cached_property
    def _recorded(self) -> Recorded:
        return Recorded(self._train_cohort)

    def _train_cohort(
        self,
        weights: Tensor,
        seeds: Tensor,
        rounds: Tensor,
        cohort: Tensor,
        key_state: Tensor,
        *,
        local_steps: int,
        seats: int | None,
    ) -> tuple[Tensor, Tensor]:
        """The clients' weights [R, m, P] and their average [R, P]."""
        count = self.federation.num_models
        if count == 1:
            return self._train_models(weights, seeds, rounds, cohort, key_state, local_steps=local_steps, seats=seats)
        rows = (part.repeat_interleave(count) for part in (seeds, rounds, key_state))  # a row for each shard
        own_seeds, own_rounds, own_state = rows
        models, members = weights.reshape(len(weights) * count, -1), cohort.reshape(len(weights) * count, -1)
        local, average = self._train_models(
            models, own_seeds, own_rounds, members, own_state, local_steps=local_steps, seats=None
        )
        return side_by_side(weights, local.unflatten(0, (-1, count))), average.reshape(weights.shape)

    def _train_models(
        self,
        weights: Tensor,
        seeds: Tensor,
        rounds: Tensor,
        cohort: Tensor,
        key_state: Tensor,
        *,
        local_steps: int,
        seats: int | None,
    ) -> tuple[Tensor, Tensor]:
        """As `_train_cohort`, of one model a row."""
        keys, sizes = Keys(key_state), cohort_sizes(cohort, self.clients.size[seeds])  # [R, m]
        batches = self.batcher.draw(keys, rounds, cohort, sizes).first(local_steps)
        local = self.trainer(weights, seeds, cohort, batches)
        return local, self._aggregate(weights, local[:, :seats], sizes[:, :seats], seeds, rounds, keys)

    def _aggregate(
        self, weights: Tensor, local: Tensor, sizes: Tensor, seeds: Tensor, rounds: Tensor, keys: Keys
    ) -> Tensor:
        """The new global model from clients' weights `local` [R, m, P] with `sizes` [R, m] examples. [R, P]"""
        if self.federation.privacy is None:
            return mean(weights, local, cohort_weights(sizes, local.dtype))
        noise = keys.fold("privacy", rounds).normal(weights.shape[1])
        rows = None if self.privacies is None else RowPrivacy(*(part[seeds] for part in self._row_privacy))
        return private_mean(weights, local, noise, self.federation, rows)

    @cached_property
    def _row_privacy(self) -> RowPrivacy:
        """Of all rows of the clients' data. [S, 1] each"""
        images = self.clients.images
        numbers = [[(one.update_clip, one.noise)] for one in self.privacies or ()]
        clip, noise = torch.tensor(numbers, dtype=torch.float64, device=images.device).unbind(2)
        return RowPrivacy(clip.to(images.dtype), noise)

    @property
    def own_settings(self) -> tuple[object, ...]:
        """What a training depends on besides model, data and federation, where it is not the usual."""
        return tuple(part for part in (self.optimiser, self.privacies) if part is not None)

    def weighted_mean(self, weights: Tensor, local: Tensor, cohort: Tensor) -> Tensor:
        """FedAvg's mean of clients' weights `local` [S, m, P]; `weights` [S, P] where the cohort is empty. [S, P]"""
        sizes = cohort_sizes(cohort, self.clients.size)
        return mean(weights, local, cohort_weights(sizes, local.dtype))

    def initial(self, keys: Keys) -> Tensor:
        """Initial weights of every seed; of a federation in shards, of one model for each. [S, P]"""
        count = self.federation.num_models
        if count == 1:
            return self.model.init(keys)
        return torch.cat([self.model.init(keys.fold("shard", shard)) for shard in range(count)], dim=1)

    @property
    def places(self) -> int:
        """The maximum size of a cohort."""
        return cohort_places(self.federation, self.clients.num_clients)


def side_by_side(weights: Tensor, local: Tensor) -> Tensor:
    """Whole rows of each shard's clients, `weights` [R, k P] but for their own model: [R, k, m, P] -> [R, k m, k P]."""
    count, seats = local.shape[1:3]
    rows = weights.unflatten(1, (count, -1))[:, None, None].repeat(1, count, seats, 1, 1)  # [R, k, m, k, P]
    for shard in range(count):
        rows[:, shard, :, shard] = local[:, shard]
    return rows.flatten(3).flatten(1, 2)
