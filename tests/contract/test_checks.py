"""The checks themselves: a method that is broken in each way is caught, with a sentence that helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sifu.config.fields import settings
from sifu.core.keys import Keys
from sifu.federation.stop import Stop
from sifu.methods.fine_tuning import FineTuning
from sifu.unlearning.history import History
from sifu.unlearning.method import Footprint, Method, Unlearned, exact_claim
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.contract import checks


@settings
class NoOp(FineTuning):
    """Gives back the model as it is."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.hold(history.current, keys), history.end)


@settings
class Leak(FineTuning):
    """Trains everybody, the leavers too."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        everyone = torch.ones_like(request.remain)
        stop = Stop(None, 0, torch.full((len(everyone),), 4))
        segment = history.engine.run(history.current, everyone, keys, stop)
        return Unlearned(segment, history.end)


@settings
class GlobalNoise(FineTuning):
    """Draws from torch's own generator."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        start = history.current + 0.1 * torch.randn(history.current.shape)
        return Unlearned(server.recover(start, keys), history.end)


@settings
class MixedSeeds(FineTuning):
    """Averages over seeds."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        start = history.current.mean(0, keepdim=True).expand_as(history.current).clone()
        return Unlearned(server.recover(start, keys), history.end)


@settings
class CountsEverybody(FineTuning):
    """Lets the number of clients into the result, also of those that are not there."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        start = history.current * (1 - 1 / request.remain.shape[1])
        return Unlearned(server.recover(start, keys), history.end)


@settings
class Undeclared(FineTuning):
    """Goes back to an old model without saying that it needs one."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        old = history.at(torch.zeros(len(request.remain), dtype=torch.int64))
        return Unlearned(server.recover(old, keys), history.nowhere)


@settings
class NotFinite(FineTuning):
    """Divides by zero."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.hold(history.current / 0.0, keys), history.end)


@settings
class Future(FineTuning):
    """Claims to grow from a branch that does not exist."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        end = history.end
        return Unlearned(server.recover(history.current, keys), type(end)(end.branch + 1, end.round * 0))


@settings
class Peek(FineTuning):
    """Looks at the leavers' data without training on them."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        own = history.engine.clients.images.mean((2, 3, 4, 5)) * request.forget  # [S, C]
        return Unlearned(server.recover(history.current + own.sum(1, keepdim=True), keys), history.end)


@settings
class Tired(FineTuning):
    """Works once, then gives back what it was given."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        train = server.recover if request.number == 1 else server.hold
        return Unlearned(train(history.current, keys), history.end)


@settings
class Sneak(FineTuning):
    """Takes an old model from where it was not offered."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(history.segments[0].snapshots[:, 0], keys), history.end)


@settings
class Pretender(FineTuning):
    """Goes on from the model in use and claims to have started from scratch."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(history.current, keys), history.nowhere, exact_claim(request))


@settings
class HalfNoise(FineTuning):
    """Adds half of the noise that it claims."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        claim = exact_claim(request)
        noise = 0.05 * keys.fold("noise").normal(history.current.shape[1])
        claimed = replace(claim, sigma=claim.sigma + 0.1)
        return Unlearned(server.recover(history.current + noise.float(), keys), history.end, claimed)


@settings
class Shapeless(FineTuning):
    """Stores one number for all seeds together."""

    def server_floats(self, footprint: Footprint) -> torch.Tensor:
        return footprint.rounds.sum()


@pytest.mark.parametrize(
    ("method", "check", "advice"),
    [
        (NoOp(), checks.check_not_a_no_op, "give back the segment that was trained"),
        (Leak(), checks.check_forgotten_data, r"server\.recover"),
        (Peek(), checks.check_forgotten_data, r"server\.recover"),
        (Tired(), checks.check_not_a_no_op, "unchanged from request 2"),
        (Sneak(), checks.check_shape, "must stay finite"),
        (Pretender(), checks.check_claim, "on the node that is claimed, where the branch starts"),
        (HalfNoise(), checks.check_claim, "noise of the sigma that is claimed at the start"),
        (Leak(), checks.check_shape, r"use server\.recover"),
        (GlobalNoise(), checks.check_deterministic, "draw from the `keys`"),
        (MixedSeeds(), checks.check_seed_by_seed, "never mix values along the first axis"),
        (CountsEverybody(), checks.check_padded_client, "use history and request"),
        (Undeclared(), checks.check_declared_reads, r"add Kept\.MODELS to its `keeps`"),
        (NotFinite(), checks.check_shape, "must stay finite"),
        (Future(), checks.check_sequence, "must be one that exists already"),
        (Shapeless(), checks.check_cost, "one number a seed"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_broken_method_is_caught(method: Method, check: Callable[[Method], None], advice: str) -> None:
    with pytest.raises(AssertionError, match=advice):
        check(method)
