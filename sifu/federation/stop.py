"""When a run stops, and when it is evaluated. Stop rules belong to the scenario, never to a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sifu.config.federation import Target

# (distance to the target, rounds between evaluations while the accuracy is further away than that); closer: every round
EVALUATION_INTERVALS = {
    "close": ((0.20, 20), (0.10, 10), (0.05, 5), (0.02, 2)),
    "released": ((0.05, 20), (0.025, 10), (0.01, 5), (0.005, 2)),
    "rare": ((0.0, 200),),  # of runs that no accuracy ends: it is only shown
}


@dataclass(frozen=True)
class Stop:
    """Stop at the target accuracy after `min_rounds`, at `max_rounds` in any case; without a target at `max_rounds`.

    With a budget, `max_rounds` are as many as fit into it.
    """

    target: float | None
    min_rounds: int
    max_rounds: Tensor  # [S] int64
    client_steps: Tensor | None = None  # [S] int64: the budget that gives max_rounds, if there is one
    steps_a_round: Tensor | None = None  # [S] int64
    counted: Tensor | None = None  # [S] int64: rounds before this run that count towards `min_rounds`
    schedule: str = "close"

    @staticmethod
    def at_target(target: Target, num_seeds: int) -> Stop:
        rounds = torch.full((num_seeds,), target.max_rounds)
        return Stop(target.accuracy, target.min_rounds, rounds, schedule=target.schedule)

    @staticmethod
    def at_budget(client_steps: Tensor, steps_a_round: Tensor, target: Target | None = None) -> Stop:
        """Stop after as many whole rounds as fit into `client_steps` [S], at `steps_a_round` [S] per round.

        `target`: stop at its accuracy as well.
        """
        rounds = client_steps.clamp(min=0) // steps_a_round
        if target is None:
            return Stop(None, 0, rounds, client_steps, steps_a_round)
        accuracy, least = target.accuracy, target.min_rounds
        return Stop(accuracy, least, rounds, client_steps, steps_a_round, schedule=target.schedule)

    @property
    def must_reach(self) -> bool:
        """Whether a seed that ends below the target has failed: with a budget, it has not."""
        return self.target is not None and self.client_steps is None

    def counting(self, counted: Tensor) -> Stop:
        """The same rule where `counted` [S] rounds are said to be done: towards the minimum and the maximum.

        A budget of client steps is not touched: it knows what was spent.
        """
        if self.client_steps is not None:
            return self.crediting(counted)
        return replace(self, max_rounds=(self.max_rounds - counted).clamp(min=0), counted=counted)

    def crediting(self, done: Tensor) -> Stop:
        """The same rule where `done` [S] rounds count towards the minimum alone."""
        return replace(self, counted=done)

    def joined(self, others: Sequence[Stop]) -> Stop:
        """One rule for the seeds of all `others`, which have this one's target and minimum, and a budget if it has."""
        rounds = torch.cat([one.max_rounds for one in others])
        nothing = [torch.zeros_like(one.max_rounds) for one in others]
        counted, steps, a_round = (
            torch.cat([zero if part is None else part for part, zero in zip(parts, nothing, strict=True)])
            for parts in zip(*((one.counted, one.client_steps, one.steps_a_round) for one in others), strict=True)
        )
        joined = replace(self, max_rounds=rounds, counted=counted)
        return joined if self.client_steps is None else replace(joined, client_steps=steps, steps_a_round=a_round)

    @property
    def least(self) -> Tensor:
        """The rounds after which each seed may stop. [S]"""
        least = torch.full_like(self.max_rounds, self.min_rounds)
        return least if self.counted is None else (least - self.counted).clamp(min=0)

    def with_spares(self, steps: Tensor) -> Stop:
        """The same rule where a round costs `steps` [S] client steps more; without a budget, the rule itself."""
        if self.client_steps is None or self.steps_a_round is None:
            return self
        return self._of(self.client_steps, self.steps_a_round + steps)

    def with_gradients(self, gradients: int) -> Stop:
        """The same rule where each client step counts as so many; without a budget, the rule itself."""
        return self if self.steps_a_round is None or gradients == 1 else self.costing(self.steps_a_round * gradients)

    def costing(self, steps: Tensor) -> Stop:
        """The same rule where a round costs `steps` [S] client steps; without a budget, the rule itself."""
        return self if self.client_steps is None else self._of(self.client_steps, steps.clamp(min=1))

    def after(self, spent: Tensor) -> Stop:
        """The same rule after `spent` [S] client steps of the budget; without a budget, the rule itself."""
        if self.client_steps is None or self.steps_a_round is None:
            return self
        return self._of(self.client_steps - spent, self.steps_a_round)

    def _of(self, client_steps: Tensor, steps_a_round: Tensor) -> Stop:
        """The same rule with another budget."""
        rounds = client_steps.clamp(min=0) // steps_a_round
        return replace(self, max_rounds=rounds, client_steps=client_steps, steps_a_round=steps_a_round)

    def affords(self, spent: Tensor, cost: Tensor) -> Tensor:
        """Whether `cost` [S] more client steps fit into the budget after `spent` [S]. [S] bool"""
        if self.client_steps is None:
            return torch.ones_like(cost, dtype=torch.bool)
        return spent + cost <= self.client_steps

    def reached(self, accuracy: Tensor, rounds: int) -> Tensor:
        """Which seeds may stop because they reached the target: `accuracy` [S] -> [S] bool."""
        if self.target is None:
            return torch.zeros_like(accuracy, dtype=torch.bool)
        return (accuracy >= self.target) & (rounds >= self.max_rounds.minimum(self.least))

    def next_evaluation(self, accuracy: Tensor, best: Tensor, rounds: int) -> Tensor:
        """The round of each seed's next evaluation: every 20, 10, 5, 2, 1 rounds, more often the closer it is. [S]

        `accuracy` [S] is the last one, `best` [S] the best so far, the last included.
        """
        least = self.least
        if self.schedule == "released":
            interval = self._interval(best)
            due = self._next_multiple(interval, rounds)
            # from then on it is evaluated in every round: before the minimum such an evaluation decides nothing
            return torch.where(interval == 1, due.maximum(least), due).minimum(self.max_rounds)
        due = rounds + self._interval(accuracy)
        # always evaluate when a seed may first stop; at the target already, only then
        at_target = accuracy >= self.target if self.target is not None else torch.zeros_like(accuracy).bool()
        first = torch.where(at_target, least, due.minimum(least))
        return torch.where(rounds < least, first, due).minimum(self.max_rounds)

    def _interval(self, accuracy: Tensor) -> Tensor:
        """Rounds between two evaluations at this accuracy. [S]"""
        gap = self.target - accuracy if self.target is not None else torch.full_like(accuracy, torch.inf)
        interval = torch.ones_like(self.max_rounds)
        for distance, rounds in reversed(EVALUATION_INTERVALS[self.schedule]):
            interval = torch.where(gap > distance, rounds, interval)
        return interval

    def _next_multiple(self, interval: Tensor, rounds: int) -> Tensor:
        """The next round whose number, with the rounds that are said to be done, is a multiple of `interval`. [S]"""
        done = torch.zeros_like(interval) if self.counted is None else self.counted
        return ((rounds + done) // interval + 1) * interval - done
