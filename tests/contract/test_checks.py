"""The checks themselves: a method that is broken in each way is caught, with a sentence that helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sifu.contract import method_checks as checks
from sifu.core.keys import Keys
from sifu.errors import SifuError
from sifu.federation.stop import Stop
from sifu.methods.fine_tuning import FineTuning
from sifu.methods.scratch import Scratch
from sifu.unlearning.history import History
from sifu.unlearning.method import Assumptions, Footprint, Method, Unlearned, exact_promise
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server


class NoOp(FineTuning):
    """Gives back the model as it is."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        return Unlearned(server.hold(history.current, keys), history.end)


class Leak(FineTuning):
    """Trains everybody, also the clients to forget, with an engine that is not its own."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        everyone = torch.ones_like(request.remain)
        stop = Stop(None, 0, torch.full((len(everyone),), 4))
        segment = history._lineage.engine.run(history.current, everyone, keys, stop)
        return Unlearned(server.hold(segment.final, keys), history.end)


class GlobalNoise(FineTuning):
    """Draws from torch's own generator."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        start = history.current + 0.1 * torch.randn(history.current.shape)
        return Unlearned(server.recover(start, keys), history.end)


class MixedSeeds(FineTuning):
    """Averages over seeds."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        start = history.current.mean(0, keepdim=True).expand_as(history.current).clone()
        return Unlearned(server.recover(start, keys), history.end)


class CountsEverybody(FineTuning):
    """Lets the number of clients into the result, also of those that are not there."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        start = history.current * (1 - 1 / request.remain.shape[1])
        return Unlearned(server.recover(start, keys), history.end)


class Undeclared(FineTuning):
    """Goes back to an old model without saying that it needs one."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        return Unlearned(server.recover(history.at(history.early(0)), keys), history.nowhere)


class NotFinite(FineTuning):
    """Divides by zero."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        return Unlearned(server.hold(history.current / 0.0, keys), history.end)


class Peek(FineTuning):
    """Reads the data of the clients to forget without training on them."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        own = server._engine.clients.images.mean((2, 3, 4, 5)) * request.forget  # [S, C]
        return Unlearned(server.recover(history.current + own.sum(1, keepdim=True), keys), history.end)


class Tired(FineTuning):
    """Works once, then gives back what it was given."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        train = server.recover if request.number == 1 else server.hold
        return Unlearned(train(history.current, keys), history.end)


class Pretender(FineTuning):
    """Goes on from the current model and promises to have started from scratch."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        return Unlearned(server.recover(history.current, keys), history.nowhere, exact_promise(request))


class HalfNoise(FineTuning):
    """Adds half of the noise that it promises."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        promise = exact_promise(request)
        noise = 0.05 * keys.fold("noise").normal(history.current.shape[1])
        promised = replace(promise, sigma=promise.sigma + 0.1)
        return Unlearned(server.recover(history.current + noise.float(), keys), history.end, promised)


class AsksUndeclared(FineTuning):
    """Lets the clients to forget train, and does not say so."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        return Unlearned(server.recover(server.ask_forgotten(history.current, keys).mean, keys), history.end)


class Haunted(FineTuning):
    """Goes on to read the data of those whom earlier requests have forgotten."""

    assumptions = Assumptions(forgotten_data=True)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        away = history.available[0] & ~request.remain
        own = server._engine.clients.images.mean((2, 3, 4, 5)).where(away, 0.0)  # [S, C]
        return Unlearned(server.recover(history.current + own.sum(1, keepdim=True), keys), history.end)


class Boasts(FineTuning):
    """Says that it is exact, and promises nothing."""

    exact = True


class ExactUndeclared(Scratch):
    """Promises to be exact, and does not say so."""

    exact = False


class ReadsUndeclared(FineTuning):
    """Trains on the server's examples, and does not say so."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:  # type: ignore[override]
        return Unlearned(server.recover(server.train_here(history.current, keys), keys), history.end)


class Modest(FineTuning):
    """Says that it needs the server's examples, and does not."""

    assumptions = Assumptions(server_data=True)


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
        (AsksUndeclared(), checks.check_shape, r"set assumptions\.forgotten_data"),
        (Haunted(), checks.check_forgotten_before, "an earlier request has forgotten are still read"),
        (ReadsUndeclared(), checks.check_shape, r"set assumptions\.server_data"),
        (Modest(), checks.check_server_data, r"clear assumptions\.server_data"),
        (Tired(), checks.check_not_a_no_op, "unchanged from request 2"),
        (Leak(), checks.check_interface, r"history\._lineage"),
        (Pretender(), checks.check_promise, "on the node that is given back, where the branch starts"),
        (HalfNoise(), checks.check_promise, "noise of the promised sigma at the start"),
        (Boasts(), checks.check_promise, "set `exact = True`"),
        (ExactUndeclared(), checks.check_promise, "set `exact = True`"),
        (GlobalNoise(), checks.check_deterministic, "draw from the `keys`"),
        (MixedSeeds(), checks.check_seed_by_seed, "never mix values along the first axis"),
        (CountsEverybody(), checks.check_padded_client, "use history and request"),
        (Undeclared(), checks.check_declared_reads, r"add Kept\.MODELS to its `keeps`"),
        (NotFinite(), checks.check_shape, "must stay finite"),
        (Shapeless(), checks.check_cost, "one number a seed"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_broken_method_is_caught(method: Method, check: Callable[[Method], None], advice: str) -> None:
    with pytest.raises(SifuError, match=advice):
        check(method)
