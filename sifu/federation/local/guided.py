"""Local training with any loss and optimiser, and a look at the weights after every step: any module, on any device.

On the CPU one model at a time per thread, so that a seed's bits do not depend on what else is trained; on a GPU all
models in one batch. Where loss and optimiser are FedAvg's own, the other trainers do the same, faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.func import grad, vmap

from sifu.config.optimiser import Adaptive, Optimiser
from sifu.core.keys import Keys
from sifu.core.types import Clients, real_places
from sifu.federation.local.batches import Batches
from sifu.federation.local.loss import Loss, sees_more
from sifu.federation.local.step import begin, take_step
from sifu.hardware.determinism import deterministic
from sifu.hardware.kernels import kernels_fit
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel
from sifu.models.layer_calls import LayerCalls


class Step(NamedTuple):
    """What a hook sees of some clients after a step; q is any selection of (seed, client) pairs."""

    number: int  # steps done, from 1
    weights: Tensor  # [q, P]
    row: Tensor  # [q] seeds
    place: Tensor  # [q] places in the cohort
    measure: Callable[[Tensor], Tensor]  # weights [q, P] -> [q] their share of right answers on the client's examples

    def accuracy(self) -> Tensor:
        """The share of correct answers of `weights` on the client's own examples, computed when called. [q]"""
        return self.measure(self.weights)


AfterStep = Callable[[Step], tuple[Tensor, Tensor]]  # -> weights [q, P] to go on with, whether to stop there [q] bool


class _Rows(NamedTuple):
    """Clients that are trained together."""

    start: Tensor  # [q, P]
    row: Tensor  # [q]
    place: Tensor  # [q]
    seed: Tensor  # [q] rows of the clients' data
    client: Tensor  # [q]
    examples: Tensor  # [q, K, B]
    weight: Tensor  # [q, K, B]
    limit: Tensor  # [q] steps at most
    masks: Tensor | None  # [q] keys
    probes: Tensor | None  # [q] keys


@dataclass(frozen=True)
class GuidedTrainer:
    model: FlatModel
    clients: Clients
    optimiser: Optimiser
    loss: Loss
    workers: Workers | None
    scale: Tensor | None = None  # [R] factor of each row's loss; None: 1

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        return self.train(start, seeds, cohort, batches)[0]

    def train(
        self,
        start: Tensor,
        seeds: Tensor,
        cohort: Tensor,
        batches: Batches,
        limit: Tensor | None = None,
        after: AfterStep | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Weights [R, m, P] and the steps that each client took [R, m]; `limit` [R, m]: steps at most, None: all."""
        rows, shape = self._rows(start, seeds, cohort, batches, limit), cohort.shape
        present = (cohort >= 0).flatten()  # [R * m]
        if self.workers is None:
            with deterministic():
                local, steps = self._train(rows, after)
            local = torch.where(present[:, None], local, rows.start)
            return local.unflatten(0, shape), steps.where(present, 0).unflatten(0, shape)
        local, steps = rows.start.clone(), torch.zeros_like(rows.row)

        def train(number: int) -> None:
            one = _Rows(*(None if part is None else part[number : number + 1] for part in rows))  # type: ignore[arg-type]
            local[number : number + 1], steps[number : number + 1] = self._train(one, after)

        self.workers.map(train, present.nonzero().flatten().tolist())
        return local.unflatten(0, shape), steps.unflatten(0, shape)

    def _rows(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches, limit: Tensor | None) -> _Rows:
        """Every place of every cohort, also the empty ones."""
        row, place = (
            part.expand(cohort.shape).flatten()
            for part in (
                torch.arange(len(cohort), device=cohort.device)[:, None],
                torch.arange(cohort.shape[1], device=cohort.device),
            )
        )
        steps = torch.full_like(cohort, batches.index.shape[2]) if limit is None else limit
        state = (None if part is None else part.flatten() for part in (batches.mask_state, batches.probe_state))
        return _Rows(
            start[row],
            row,
            place,
            seeds[row],
            cohort.clamp(min=0).flatten(),
            batches.index.flatten(0, 1),
            self._scaled(batches.weight(start.dtype).flatten(0, 1), row),
            steps.flatten(),
            *state,
        )

    def _scaled(self, weight: Tensor, row: Tensor) -> Tensor:
        """The weights of examples [q, K, B] of the rows `row` [q], times the factor of the loss."""
        return weight if self.scale is None else weight * self.scale.to(weight)[row][:, None, None]

    def _train(self, rows: _Rows, after: AfterStep | None) -> tuple[Tensor, Tensor]:
        """Weights [q, P] after all steps, and how many each took [q]."""
        weights, state, steps = rows.start, begin(rows.start), torch.zeros_like(rows.limit)
        going = torch.ones_like(rows.limit, dtype=torch.bool)
        for number in range(1, rows.examples.shape[1] + 1):
            going = going & (rows.limit >= number)
            if self.workers is not None and not bool(going.any()):  # a GPU would have to wait for the answer
                break
            moved, state = take_step(self.optimiser, number, weights, state, *self._gradient(weights, rows, number - 1))
            steps = steps + going
            stop = torch.zeros_like(going)
            if after is not None:
                moved, stop = after(Step(number, moved, rows.row, rows.place, lambda at: self._accuracy(at, rows)))
            weights, going = torch.where(going[:, None], moved, weights), going & ~stop
        return weights, steps

    def _gradient(self, weights: Tensor, rows: _Rows, step: int) -> tuple[Tensor, Tensor | None]:
        """The gradient of a step's batch, and the curvature that the optimiser divides by. [q, P] each"""
        at = rows.seed[:, None], rows.client[:, None], rows.examples[:, step]
        images, labels, weight = self.clients.images[at], self.clients.labels[at], rows.weight[:, step]  # [q, B, ...]
        taught = self._taught(rows, images)
        mask, probe = (None if key is None else Keys(key).fold(step).state for key in (rows.masks, rows.probes))
        given = (weights, images, labels, weight, taught, mask)
        kind = self.optimiser.curvature if isinstance(self.optimiser, Adaptive) else "gradient"
        if kind == "fisher":
            found = self._each(self._with_fisher, *given)
        elif kind == "hutchinson":
            found = self._each(self._with_hessian, *given, probe)
        else:
            return self._each(grad(self._loss), *given), None
        return found[0], found[1]

    def _each(self, function: Callable[..., Any], *given: Tensor | None) -> Any:
        """A function of one model, for all of them: on the CPU there is one."""
        if self.workers is None:
            return vmap(function, in_dims=tuple(None if part is None else 0 for part in given))(*given)
        found = function(*(None if part is None else part[0] for part in given))
        return tuple(part[None] for part in found) if isinstance(found, tuple) else found[None]

    def _loss(
        self,
        weights: Tensor,
        images: Tensor,
        labels: Tensor,
        weight: Tensor,
        taught: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        """The mean loss of one model's batch [B, ...]; `weight` [B] leaves out the padding."""
        with LayerCalls(mask, stacked=self._stacked):
            logits = self.model.logits(weights, images, training=True, seen=sees_more(self.loss))
        return (self.loss(logits, labels, taught) * weight).sum()

    def _with_fisher(
        self,
        weights: Tensor,
        images: Tensor,
        labels: Tensor,
        weight: Tensor,
        taught: Tensor | None,
        mask: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Gradient and diagonal of the empirical Fisher matrix, from the gradients of single examples. [P] each"""
        masks = None if mask is None else Keys(mask).each(torch.arange(len(labels), device=labels.device)).state  # [B]

        def single(weights: Tensor, image: Tensor, label: Tensor, goal: Tensor | None, key: Tensor | None) -> Tensor:
            one = label.new_ones(1).to(weights.dtype)
            return self._loss(weights, image[None], label[None], one, None if goal is None else goal[None], key)

        in_dims = (None, 0, 0, None if taught is None else 0, None if masks is None else 0)
        gradients = vmap(grad(single), in_dims=in_dims)(weights, images, labels, taught, masks)  # [B, P]
        return weight @ gradients, weight @ gradients.square()

    def _with_hessian(
        self,
        weights: Tensor,
        images: Tensor,
        labels: Tensor,
        weight: Tensor,
        taught: Tensor | None,
        mask: Tensor | None,
        probe: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Gradient and Hutchinson's estimate of the Hessian's diagonal, z * (H z). [P] each"""
        signs = torch.where(Keys(probe).bits(weights.shape[-1]) >= 0, 1.0, -1.0).to(weights.dtype)  # [P]

        def along(at: Tensor) -> tuple[Tensor, Tensor]:
            gradient = grad(self._loss)(at, images, labels, weight, taught, mask)
            return (gradient * signs).sum(), gradient

        product, gradient = grad(along, has_aux=True)(weights)
        return gradient, signs * product

    @property
    def _stacked(self) -> bool:
        """Whether our kernels may compute the layers of all models: they know first derivatives of batches alone."""
        plain = not isinstance(self.optimiser, Adaptive) or self.optimiser.curvature == "gradient"
        return plain and self.workers is None and kernels_fit(self.clients.images)

    def _taught(self, rows: _Rows, images: Tensor) -> Tensor | None:
        """What the teacher answers on images [q, B, ...]. [q, B, classes]"""
        if self.loss.teacher is None:
            return None
        return self._answers(self.loss.teacher[rows.row], images, seen=sees_more(self.loss))

    def _accuracy(self, weights: Tensor, rows: _Rows) -> Tensor:
        """The share of correct answers of each client's model on its own examples. [q] float64"""
        images, labels = self.clients.images[rows.seed, rows.client], self.clients.labels[rows.seed, rows.client]
        size = self.clients.size[rows.seed, rows.client]  # [q]
        right = self._answers(weights, images).argmax(-1) == labels  # [q, n]
        return (right & real_places(size, labels.shape[-1])).sum(-1).double() / size

    def _answers(self, weights: Tensor, images: Tensor, *, seen: bool = False) -> Tensor:
        """Logits as in evaluation, of weights [q, P] on images [q, n, ...]; `seen`: and more. [q, n, classes]"""

        def answer(row: Tensor, given: Tensor) -> Tensor:
            with LayerCalls(stacked=self._stacked):
                return self.model.logits(row, given, seen=seen)

        with torch.no_grad():
            answers: Tensor = self._each(answer, weights, images)
        return answers
