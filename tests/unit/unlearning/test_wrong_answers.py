"""What a method can give or give back wrongly: each is refused in one sentence that names the method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from sifu.config.optimiser import Adaptive
from sifu.contract.world import World
from sifu.errors import MethodError
from sifu.unlearning.history import History
from sifu.unlearning.method import Promise, Unlearned, exact_promise
from sifu.unlearning.node import Node
from tests.unit.unlearning.tried import method_that

WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "nothing": (lambda history, request, server, keys: None, "gave back None: return what server.recover gives"),
    "weights": (
        lambda history, request, server, keys: history.current,
        r"gave back Tensor of shape \[3, 7850\]: return what",
    ),
    "no node": (
        lambda history, request, server, keys: Unlearned(server.recover(history.current, keys), 3),  # type: ignore[arg-type]
        "the node that `unlearn` gave back is int",
    ),
    "one seed": (
        lambda history, request, server, keys: replace(
            (segment := server.recover(history.current, keys)), final=segment.final[:1]
        ),
        r"segment.final of what `unlearn` gave back is \[1, 7850\], not \[3, 7850\]",
    ),
    "a model too short": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys), history.end, None, history.current[:, 1:]
        ),
        r"published of what `unlearn` gave back is \[3, 7849\], not \[3, 7850\]",
    ),
    "one sigma": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys), history.end, Promise(1.0, 0.1, sigma=torch.tensor(0.1))
        ),
        r"promise.sigma of what `unlearn` gave back is \[\], not \[3\]",
    ),
    "a number for sigma": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys),
            history.end,
            Promise(1.0, 0.1, sigma=0.1),  # type: ignore[arg-type]
        ),
        r"promise.sigma of what `unlearn` gave back is float, not \[3\]",
    ),
    "a cheaper segment": (
        lambda history, request, server, keys: replace(
            (segment := server.recover(history.current, keys)), rounds=segment.rounds * 0
        ),
        "the segment that `unlearn` gave back was not trained by this server",
    ),
    "a promise in words": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys),
            history.end,
            "trust me",  # type: ignore[arg-type]
        ),
        "the promise that `unlearn` gave back is str",
    ),
    "a node that never was": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys), Node(history.end.branch, history.end.round + 999)
        ),
        r"the node that `unlearn` gave back \(branch \[0, 0, 0\], round \[1007, 1007, 1007\]\) does not exist",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_is_one_sentence_that_names_the_method(wrong: str) -> None:
    answers, words = WRONG[wrong]
    with pytest.raises(MethodError, match=rf"method tried: .*{words}"):
        World.make().answer(method_that(answers), rounds=1)


GIVEN: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "one model": (lambda model: model[0], r"\[7850\]"),
    "a seed less": (lambda model: model[1:], r"\[2, 7850\]"),
    "nothing": (lambda model: None, "NoneType"),
}


@pytest.mark.parametrize("given", GIVEN)
def test_only_a_model_for_each_seed_can_be_recovered_from(given: str) -> None:
    change, words = GIVEN[given]
    method = method_that(lambda history, request, server, keys: server.recover(change(history.current), keys))
    expected = rf"method tried gave `server\.recover` {words}, not a model for each seed, .* shape \[3, 7850\]"
    with pytest.raises(MethodError, match=expected):
        World.make().answer(method, rounds=1)


def test_a_promise_about_the_past_needs_the_federations_own_optimiser() -> None:
    """Without a promise, or with nothing of the past, any optimiser will do."""

    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        segment = server.recover(history.current, keys, optimiser=Adaptive())
        return Unlearned(segment, history.end, exact_promise(request) if promised else None)

    promised = False
    World.make().answer(method_that(answers), rounds=1)
    promised = True
    with pytest.raises(MethodError, match="needs the federation's SGD: recover without `optimiser`"):
        World.make().answer(method_that(answers), rounds=1)
