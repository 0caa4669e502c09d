"""What is known of models, as arrays with a value for each seed. Printed are the means over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sifu.federation.segment import Work

Numbers = NDArray[Any]  # [S]


class Printed:
    """Numbers that print themselves in words, and say over how many seeds they are means."""

    def words(self) -> str:
        """The means over seeds, in words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        seeds = max(len(values) for values in vars(self).values() if values is not None)
        return self.words() + means_of(seeds)


def means_of(num_seeds: int) -> str:
    """` (means of 3 seeds)`; nothing for a single seed."""
    return f" (means of {num_seeds} seeds)" if num_seeds > 1 else ""


@dataclass(frozen=True, repr=False, eq=False)
class Accuracy(Printed):
    """Shares of correct answers. [S] each"""

    retain: Numbers  # on the remaining clients' own data
    forget: Numbers | None = None  # on the data of this request's clients; None before any request
    forgotten: Numbers | None = None  # on the data of all clients forgotten so far
    test: Numbers | None = None  # on the test set; None where none was given

    @staticmethod
    def of(shares: Mapping[str, Tensor]) -> Accuracy:
        """From the metric `accuracy`; what has no examples is left out."""
        return Accuracy(**{name: values.numpy() for name, values in shares.items() if not bool(values.isnan().any())})

    def words(self) -> str:
        shown = {name: values for name, values in vars(self).items() if values is not None}
        return ", ".join(f"{name} {values.mean():.3f}" for name, values in shown.items())


@dataclass(frozen=True, repr=False, eq=False)
class Cost(Printed):
    """What was trained, counted by the engine. [S] each"""

    rounds: Numbers  # aggregation rounds
    client_steps: Numbers  # local optimiser steps, over all clients
    comm_floats: Numbers  # floats moved between server and clients, down and up
    share_of_training: Numbers | None = None  # client steps relative to the training's; None for the training itself
    server_steps: Numbers | None = None  # steps at the server, on its own examples, counted apart; None: none

    @staticmethod
    def of(work: Work, training: Work | None = None) -> Cost:
        """The cost of some work, also relative to that of a training."""
        share = None if training is None else (work.client_steps / training.client_steps).numpy()
        here = work.at_the_server.numpy() if bool(work.at_the_server.any()) else None
        return Cost(work.rounds.numpy(), work.client_steps.numpy(), work.comm_floats.numpy(), share, here)

    def words(self) -> str:
        share = "" if self.share_of_training is None else f", {self.share_of_training.mean():.0%} of the training's"
        here = "" if self.server_steps is None else f", {self.server_steps.mean():,.0f} steps at the server"
        return f"{self.rounds.mean():,.0f} rounds, {self.client_steps.mean():,.0f} client steps{share}{here}"


@dataclass(frozen=True, repr=False, eq=False)
class Guarantee(Printed):
    """The certificate of an answer: what is claimed, and what holds if it is counted strictly. [S] each

    What holds is NaN where noise is on a model that no rounds lead to, and nothing can be counted.
    The names are those of the table `cells` (docs/results.md).
    """

    claimed_epsilon: Numbers
    claimed_delta: Numbers
    actual_epsilon: Numbers  # at the claimed delta, for all clients of the request together (if B holds)
    actual_delta: Numbers  # at the claimed epsilon, in the same way
    sigma: Numbers  # standard deviation of the noise on each weight
    covers: Numbers  # clients that the claim covers together; 1: each client alone
    covers_everyone: Numbers  # whether these are of all clients forgotten so far
    group: Numbers  # clients forgotten so far
    psi: Numbers | None = None  # sensitivity of the model before noise, as the method counts it
    psi_star: Numbers | None = None  # sensitivity that the noise can hide
    strict_psi: Numbers | None = None  # sensitivity to the request's clients together, their seats refilled
    single_psi: Numbers | None = None  # the same for the worst of them alone
    everyone_psi: Numbers | None = None  # the same for all clients forgotten so far, together
    empty_psi: Numbers | None = None  # for comparison: the request's clients, their seats empty
    alpha: Numbers | None = None  # measured distance from the run without the request's clients
    spent_epsilon: Numbers | None = None  # if every round adds noise: of one client, by a privacy accountant
    group_epsilon: Numbers | None = None  # the same for all clients forgotten so far, as a group

    def words(self) -> str:
        covered = round(float(self.covers.mean()))
        whom = "each client alone" if covered == 1 else f"{covered} clients together"
        claimed = f"claimed epsilon {_text(self.claimed_epsilon)}, delta {_text(self.claimed_delta)} for {whom}"
        actual = f"strictly epsilon {_text(self.actual_epsilon)}, or delta {_text(self.actual_delta)}"
        counted = not np.isnan(self.actual_epsilon).any()
        parts = [claimed, *([actual] if counted else []), f"noise {_text(self.sigma)}"]
        if self.spent_epsilon is not None:
            parts.append(f"an accountant finds epsilon {_text(self.spent_epsilon)} for one client")
        return "; ".join(parts)


def summary(title: str, num_seeds: int, lines: Mapping[str, str]) -> str:
    """A title, and a line for each thing that is known."""
    return "\n".join([title + means_of(num_seeds), *(f"  {name:<12} {text}" for name, text in lines.items())])


def _text(values: Numbers) -> str:
    mean = float(values.mean())
    return f"{mean:,.0f}" if mean >= 1000 else f"{mean:.3g}"
