"""Rounds that a method asks for outside of recovery: who takes part, as far as there is budget, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.cohort import draw_cohort
from sifu.federation.engine import Engine
from sifu.federation.rounds import Round
from sifu.federation.segment import Work
from sifu.federation.stop import Stop
from sifu.unlearning.asked import Asked, Training, train_clients
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.request import Request


class AskedRounds:
    """The rounds of one request so far. A round stays open: more clients may train from the model that was sent."""

    def __init__(self, engine: Engine, request: Request, stop: Stop, max_rounds: int) -> None:
        self._engine, self._request, self._stop, self._max_rounds = engine, request, stop, max_rounds
        self._rounds = torch.zeros(len(request.remain), dtype=torch.int64)  # [S]
        self._calls = 0  # calls that drew batches of their own
        self._open: tuple[Tensor, Tensor] | None = None  # the last of them: what was sent [S, P], who trained [S] bool

    def is_open(self, start: Tensor) -> bool:
        """Whether `start` [S, P] is the model that was sent last."""
        return self._open is not None and torch.equal(self._open[0], start)

    def draw(self, keys: Keys) -> Tensor:
        """A cohort of remaining clients, drawn as that of a round. [S, m]"""
        remain, folded = self._request.remain.to(keys.state.device), keys.fold("asked cohort", self._calls)
        return draw_cohort(folded, torch.zeros_like(keys.state), remain, self._engine.federation).cpu()

    def ask(
        self, start: Tensor, keys: Keys, cohort: Tensor, training: Training, spent: Work, *, same_round: bool = False
    ) -> tuple[Asked, Work]:
        """The clients `cohort` [S, m] train from `start` [S, P]; and what that costs, after what was `spent` before.

        A seed without budget for all steps, or without a round left, is left out.
        """
        sizes = self._engine.clients.size.cpu().gather(1, cohort.clamp(min=0)).where(cohort >= 0, 0)
        steps = training.limits(sizes, self._engine).sum(1) * training.gradients  # [S] at most
        counted = self._open[1] if same_round and self._open is not None else torch.zeros_like(steps, dtype=torch.bool)
        left = counted | (self._rounds < self._max_rounds)  # [S]
        cohort = cohort.where((left & self._stop.affords(spent.client_steps, steps))[:, None], -1)
        found = train_clients(self._engine, self._engine.clients, start, cohort, self._fresh(keys), training)
        visits = (cohort >= 0).sum(1)  # [S]
        work = Work.of(((visits > 0) & ~counted).long(), visits, 0, start.shape[1])
        self._rounds = self._rounds + work.rounds
        self._open = start.clone(), counted | (visits > 0)
        return found, replace(work, client_steps=found.steps.sum(1) * training.gradients)

    def ask_again(
        self, weights: Tensor, past: PastRound, local_steps: int, spent: Work
    ) -> tuple[PastRound, Round, Work]:
        """The clients of a past round train again from `weights` [S, P]; and who they were, and what that costs.

        A seed without budget for it is left out. The scenario's maximum of rounds is not for these.
        """
        affords = self._stop.affords(spent.client_steps, past.visits * local_steps)  # [S]
        past = past.only(affords[:, None].expand_as(self._request.remain))
        visits = past.visits
        work = Work.of((visits > 0).long(), visits, local_steps, weights.shape[1])
        return past, train_again(self._engine, weights, past, local_steps), work

    def ask_server(self, start: Tensor, keys: Keys, own: Clients, training: Training) -> tuple[Tensor, Work]:
        """Train from `start` [S, P] on the server's `own` examples, those of a single client. [S, P], and its cost"""
        only = torch.zeros(len(start), 1, dtype=torch.int64)
        found = train_clients(self._engine, own, start, only, self._fresh(keys), training)
        nothing = torch.zeros_like(self._rounds)
        return found.mean, Work(nothing, nothing, nothing, found.steps.sum(1) * training.gradients)

    def _fresh(self, keys: Keys) -> Keys:
        """Keys that no other call has."""
        self._calls += 1
        return keys.fold("asked", self._calls)


def only_in(seeds: Tensor | None, cohort: Tensor) -> Tensor:
    """A cohort [S, m] that is empty but in `seeds` [S]; None: in all of them."""
    return cohort if seeds is None else cohort.where(seeds.cpu()[:, None], -1)
