"""FedEraser as the SIFU paper's code runs it: FedAvg with fewer steps in one round of dt, its length never rescaled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sifu.config.fields import at_least, between, setting
from sifu.errors import MethodRefused
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Method, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Node, Request, Server


class FedEraserReleased(Method):
    """From theta^0: in one past round of dt, the clients train r K steps from the calibrated model, and are averaged.

    The code computes lengths of updates, and overwrites what it makes of them. Its list of forgotten clients is late:
    the branch that follows request s is calibrated without W_1, ..., W_{u-s} alone, so that the clients to forget at
    request u > 1 take part in all branches but the training. A calibration counts r / dt of every past round, also
    towards the minimum and the maximum of the stop rule; the engine counts its cost as it is. The code calibrates
    during the training, as it knows all requests before; here that is done at the request, with the same batches.
    """

    name = "fed_eraser_released"
    specified_from = "code of the SIFU paper"
    assumptions = Assumptions(
        forgotten_data=True, stores="a calibrated model for each later request", reference="code of the SIFU paper"
    )
    keeps = frozenset({Kept.START, Kept.NORMS, Kept.COHORTS})

    every: int = setting("one round in how many is calibrated (dt)", at_least(1), default=2)
    calibration: float = setting(
        "share of the local steps that calibrate (r), rounded down", between(0, 1), default=0.5
    )

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        counted = self._counted(history, server)
        model, node = self._calibrate(history, request, server, counted)
        return Unlearned(server.recover(model, keys, counted=counted[-1]), node)

    def _counted(self, history: History, server: Server) -> list[Tensor]:
        """The round that the code's count begins with in the training (0) and after each request. [S] each"""
        all_steps = server.scenario.federation.local_steps
        done = history.rounds[0] * 0
        counted = [done]
        for rounds in history.rounds:
            done = done + rounds
            counted.append(done * self._steps(server) // (self.every * all_steps))
        return counted

    def _calibrate(
        self, history: History, request: Request, server: Server, counted: list[Tensor]
    ) -> tuple[Tensor, Node]:
        """The calibrated model [S, P], and the last round that it was calibrated with."""
        model, node = history.start, history.early(0)
        available, steps = [*history.available, request.remain], self._steps(server)
        going = node.round >= 0  # [S]: until the budget is spent
        for past in history.retained(1):
            due = (counted[past.branch] + past.number) % self.every == 0  # [S]
            if not bool(due.any()):
                continue
            allowed = available[request.number - past.branch]  # [S, C] the late list: without W_1, ..., W_{u-s}
            wanted = past.only(allowed & (going & due)[:, None])
            asked, result = server.ask_again(model, wanted, steps, forgotten=True)
            going = going & ((asked.visits > 0) | (wanted.visits == 0))
            model = server.average(model, result.local, asked)
            node = node.moved(past.branch, past.number + 1, going & due & past.happened)
        return model, node

    def _steps(self, server: Server) -> int:
        """Local steps of a calibration; the code divides by them."""
        steps = math.floor(self.calibration * server.scenario.federation.local_steps + 1e-9)
        if not steps:
            raise MethodRefused("less than one local step is left for a calibration, by which its code divides")
        return steps

    def server_floats(self, footprint: Footprint) -> Tensor:
        """The calibrated model; the code keeps one for each request to come. [S]"""
        return footprint.rounds * 0 + footprint.num_weights
