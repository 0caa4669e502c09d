"""What a method can do wrong through its interface: each is refused in one sentence, or changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from sifu.certificate.rules import PRESETS
from sifu.config.fields import above, setting
from sifu.config.optimiser import Adaptive
from sifu.contract.world import World
from sifu.errors import ConfigError, MethodError
from sifu.methods.fine_tuning import FineTuning
from sifu.unlearning.history import History
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Method, Promise, Unlearned, exact_promise
from sifu.unlearning.node import Node


def method_that(answers: Callable[..., Any], *keeps: Kept) -> Method:
    """A method whose `unlearn` is `answers(history, request, server, keys)`."""
    kept = frozenset(keeps)

    class Tried(Method):
        name = "tried"

        @property
        def keeps(self) -> frozenset[Kept]:
            return kept

        def unlearn(self, *given: Any) -> Any:
            return answers(*given)

    return Tried()


READS = {
    Kept.START: lambda history, request: history.start,
    Kept.MODELS: lambda history, request: history.at(history.early(1)),
    Kept.COHORTS: lambda history, request: history.visits(request.forget),
    Kept.NORMS: lambda history, request: list(history.retained(2)),
    Kept.FIRST_ROUND: lambda history, request: history.first_round(request.remain),
    Kept.UPDATES: lambda history, request: history.accumulated(request.remain, 1),
    Kept.LAST_UPDATES: lambda history, request: history.last_contribution(request),
    Kept.SCALARS: lambda history, request: history.sensitivity(request.forget, PRESETS["empty_seats"], 1.0),
    Kept.PRODUCTS: lambda history, request: history.sensitivity(request.forget, PRESETS["strict"], 1.0),
}


@pytest.mark.parametrize("kept", READS, ids=lambda kept: kept.name)
def test_what_is_not_declared_cannot_be_read(kept: Kept) -> None:
    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        READS[kept](history, request)
        return server.recover(history.current, keys)

    others = [other for other in Kept if other is not kept]
    with pytest.raises(MethodError, match=rf"method tried reads {kept.value} without .* Kept\.{kept.name}"):
        World.make().answer(method_that(answers, *others), rounds=1)
    World.make().answer(method_that(answers, *Kept), rounds=1)


def test_every_kind_of_memory_has_a_read_that_needs_it() -> None:
    assert set(READS) == set(Kept)


def test_history_offers_no_way_to_the_engine_or_to_its_segments() -> None:
    offered = {name for name in dir(History) if not name.startswith("_")}
    free = {"current", "end", "nowhere", "num_clients", "rounds", "left_shares", "share_of", "stretches", "early"}
    free |= {"last_at_most", "value_at", "available", "length"}
    declared = {"start", "at", "sensitivity", "visits", "retained", "first_round", "accumulated", "last_round"}
    declared |= {"checkpoint", "released_cut", "contributions", "last_contribution", "last_updates", "stored"}
    assert offered == free | declared


def test_a_server_offers_no_way_to_the_engine() -> None:
    offered: list[str] = []

    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        offered.extend(name for name in dir(server) if not name.startswith("_"))
        return server.recover(history.current, keys)

    World.make().answer(method_that(answers), rounds=1)
    trains = {"recover", "recover_shards", "hold", "ask_again", "ask_forgotten", "ask_remaining"}  # each of them counts
    trains |= {"train_here"}  # on the server's own examples, which costs no client anything
    trains |= {"recover_by_oracle"}  # only where a method declares it
    reads = {
        "has_trained",
        "average",
        "layers",
        "linear_layers",
        "layer_norms",
        "spread_layers",
        "round_factor",
        "scenario",
        "spent",
    }
    reads |= {"counted_rounds", "new_start", "has_drawn", "data", "training_loss", "training_optimiser", "shards_of"}
    assert set(offered) == trains | reads


def test_clients_to_forget_are_asked_only_by_a_method_that_declares_it() -> None:
    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        past = next(history.retained(1))
        server.ask_again(history.current, past, 1, forgotten=True)
        return server.recover(history.current, keys)

    with pytest.raises(MethodError, match=r"asks the clients to forget: set assumptions\.forgotten_data"):
        World.make().answer(method_that(answers, *Kept), rounds=1)


def test_an_oracle_is_asked_only_by_a_method_that_declares_it() -> None:
    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        return server.recover_by_oracle(history.current, keys, history.start)

    with pytest.raises(MethodError, match="asks an oracle: set `oracle`"):
        World.make().answer(method_that(answers, *Kept), rounds=1)


def test_changing_what_was_read_changes_nothing_else() -> None:
    """The second row's answers are those of a method that leaves everything alone."""
    world = World.make()

    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        segment = server.recover(history.current, keys)
        history.current.zero_()
        history.start.zero_()
        history.accumulated(request.remain, 1).zero_()
        history.end.round.zero_()
        history.end.branch.zero_()
        for rounds in history.rounds:
            rounds.zero_()
        for past in history.retained(1):
            for part in (past.norm, past.layer_norm, past.cohort, past.key_state, past.happened):
                part.zero_()
        for stored in history.stored(request.remain):
            for part in (stored.model, stored.update, stored.past.cohort, stored.past.key_state):
                part.zero_()
        history.length.zero_()
        server.spent.client_steps.zero_()
        request.remain.fill_(True)
        request.forget.fill_(False)
        return segment

    reads = set(Kept) - {Kept.PRODUCTS}  # these cost spare clients
    before, vandal, after = (world.answer(m) for m in (FineTuning(), method_that(answers, *reads), FineTuning()))
    for answer, *others in zip(before, vandal, after, strict=True):
        for other in others:
            assert torch.equal(answer.unlearned.weights, other.unlearned.weights)
            assert torch.equal(answer.work.client_steps, other.work.client_steps)


def test_all_training_is_counted_whatever_is_given_back() -> None:
    """A method that recovers, then shows the result as a model it merely kept, pays for the recovery: 4 rounds of 3
    clients with 2 steps each.
    """

    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        return server.hold(server.recover(history.current, keys).final, keys)

    for answer in World.make().answer(method_that(answers)):
        assert answer.unlearned.segment.rounds.tolist() == [0, 0, 0]
        assert answer.work.rounds.tolist() == [4, 4, 4]
        assert answer.work.client_steps.tolist() == [4 * 3 * 2] * 3


def test_a_bare_segment_means_from_the_current_model() -> None:
    method = method_that(lambda history, request, server, keys: server.recover(history.current, keys))
    (bare, *_) = World.make().answer(method)
    (full, *_) = World.make().answer(FineTuning())
    assert torch.equal(bare.unlearned.weights, full.unlearned.weights)
    assert torch.equal(bare.unlearned.node.branch, full.unlearned.node.branch)
    assert bare.unlearned.promise is None


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


def test_layers_are_views_by_name() -> None:
    """Negating the first layer's weights negates 784 x 10 numbers of each row, and no bias."""
    seen: list[torch.Tensor] = []

    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        model = history.current
        server.layers(model)[0].weight.neg_()
        seen.append(model)
        return server.recover(model, keys)

    world = World.make()
    world.answer(method_that(answers), rounds=1)
    weight, bias = world.lineage.current.split([7840, 10], dim=1)
    assert torch.equal(seen[0], torch.cat([-weight, bias], dim=1))


def test_settings_need_no_decorator() -> None:
    class Shrink(Method):
        """A method with a setting."""

        name = "shrink"
        assumptions = Assumptions(reference="a test")
        factor: float = setting("what the weights are multiplied by", above(0), default=0.5)

    assert Shrink().factor == 0.5
    assert Shrink(factor=0.8) == Shrink(factor=0.8)
    with pytest.raises(ConfigError, match=r"factor: 0\.0 is refused; allowed: above 0"):
        Shrink(factor=0.0)


def test_storage_follows_from_what_is_kept() -> None:
    """100 weights, 7 clients, cohorts of 3, 10 rounds: 7 models of 100, and 3 client numbers a round."""
    method = method_that(lambda *given: None, Kept.MODELS, Kept.COHORTS)
    assert method.server_floats(Footprint(7, 100, 3, torch.tensor([10]))).tolist() == [7 * 100 + 10 * 3]
    assert method_that(lambda *given: None).server_floats(Footprint(7, 100, 3, torch.tensor([10]))).tolist() == [0]
