"""What a method reads and trains through its interface: nothing undeclared, everything counted, nothing changed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sifu.certificate.rules import PRESETS
from sifu.config.fields import above, setting
from sifu.contract.world import World
from sifu.errors import ConfigError, MethodError
from sifu.methods.fine_tuning import FineTuning
from sifu.unlearning.history import History
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Method
from tests.unit.unlearning.tried import method_that

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
    reads |= {
        "counted_rounds",
        "has_budget",
        "new_start",
        "has_drawn",
        "data",
        "training_loss",
        "training_optimiser",
        "shards_of",
    }
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
