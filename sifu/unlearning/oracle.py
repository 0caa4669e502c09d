"""An oracle that no deployment has: when recovery is as accurate on the test set as a model that was retrained.

FedQUIT's authors end recovery by it. It knows what unlearning is to replace, and the data that it is judged by.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.engine import Engine
from sifu.federation.evaluation import Evaluator
from sifu.federation.stop import Stop
from sifu.hardware.upload import upload


class Oracle(NamedTuple):
    """What it says of a recovery. [S] each"""

    rounds: Tensor  # after which it ends
    met: Tensor  # bool: whether the retrained model's accuracy was met by then


def ask_oracle(
    engine: Engine, initial: Tensor, start: Tensor, remain: Tensor, keys: Keys, stop: Stop, whole: Stop
) -> Oracle:
    """When a recovery from `start` [S, P], of `stop`'s rounds at most, meets the test accuracy of a retraining from
    `initial` [S, P] until `whole`.

    Both are trained here and counted nowhere; the test set is looked at before each round, as the authors do.
    """
    if engine.test_data is None:
        raise MethodRefused("it stops by the accuracy on a test set, and there is none")
    evaluator = Evaluator(engine.model, engine.test_data, engine.workers)
    retrained = engine.run(initial, remain.to(start.device), keys.fold("oracle"), whole).final.to(start.device)
    goal = _correct(evaluator, retrained)
    met, rounds = torch.zeros_like(goal, dtype=torch.bool), stop.max_rounds.clone()
    model, seeds, available = start, torch.arange(len(start), device=start.device), remain.to(start.device)
    for number in range(int(stop.max_rounds.max()) + 1):
        now = ~met & (number <= stop.max_rounds) & (_correct(evaluator, model) >= goal)
        met, rounds = met | now, torch.where(now, number, rounds)
        if bool((met | (number >= stop.max_rounds)).all()):
            break
        at = upload(torch.full((len(start),), number), start.device)
        model = engine.round(model, seeds, at, available, keys.fold("recovery")).weights
    return Oracle(rounds, met)


def _correct(evaluator: Evaluator, weights: Tensor) -> Tensor:
    """Right answers on the test set, which all seeds share. [S]"""
    same = torch.zeros(len(weights), dtype=torch.int64, device=weights.device)
    return evaluator.correct(weights, same).cpu().sum(1)
