"""What a method can do wrong through its interface: each is refused in one sentence, or changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from sifu.config.fields import above, setting
from sifu.errors import ConfigError, MethodError
from sifu.methods.fine_tuning import FineTuning
from sifu.unlearning.history import History
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Method, Promise, Unlearned
from tests.contract.world import World


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
    assert set(READS) | {Kept.SCALARS} == set(Kept)  # scalars: through `sensitivity`, which SIFU's own tests read


@pytest.mark.parametrize("name", ["engine", "segments", "lineage", "kept", "whole"])
def test_history_offers_no_way_to_the_engine_or_to_what_is_kept(name: str) -> None:
    world = World.make()
    assert not hasattr(History(world.lineage, frozenset(Kept)), name)


def test_a_server_offers_no_way_to_the_engine() -> None:
    offered: list[str] = []

    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        offered.extend(name for name in dir(server) if not name.startswith("_"))
        return server.recover(history.current, keys)

    World.make().answer(method_that(answers), rounds=1)
    trains = {"recover", "hold", "ask_again"}  # each of them counts
    reads = {"average", "layers", "layer_norms", "spread_layers", "round_factor", "scenario", "spent"}
    assert set(offered) == trains | reads


def test_changing_what_was_read_changes_nothing_else() -> None:
    """The second row's answers are those of a method that leaves everything alone."""
    world = World.make()

    def answers(history: History, request: Any, server: Any, keys: Any) -> Any:
        segment = server.recover(history.current, keys)
        history.current.zero_()
        history.start.zero_()
        history.accumulated(request.remain, 1).zero_()
        for past in history.retained(1):
            past.norm.zero_()
            past.cohort.zero_()
        request.remain.fill_(True)
        request.forget.fill_(False)
        return segment

    before = [answer.unlearned.weights for answer in world.answer(FineTuning())]
    vandal = [answer.unlearned.weights for answer in world.answer(method_that(answers, *Kept))]
    after = [answer.unlearned.weights for answer in world.answer(FineTuning())]
    for one, two, three in zip(before, vandal, after, strict=True):
        assert torch.equal(one, two)
        assert torch.equal(one, three)


def test_a_bare_segment_means_from_the_current_model() -> None:
    method = method_that(lambda history, request, server, keys: server.recover(history.current, keys))
    (bare, *_) = World.make().answer(method)
    (full, *_) = World.make().answer(FineTuning())
    assert torch.equal(bare.unlearned.weights, full.unlearned.weights)
    assert torch.equal(bare.unlearned.node.branch, full.unlearned.node.branch)
    assert bare.unlearned.promise is None


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "nothing": (lambda history, request, server, keys: None, "gave back NoneType: return what server.recover gives"),
    "weights": (lambda history, request, server, keys: history.current, "gave back Tensor: return what"),
    "no node": (
        lambda history, request, server, keys: Unlearned(server.recover(history.current, keys), 3),  # type: ignore[arg-type]
        "gave back Segment and int",
    ),
    "one seed": (
        lambda history, request, server, keys: replace(
            (segment := server.recover(history.current, keys)), final=segment.final[:1]
        ),
        r"a segment.final of \[1, 7850\], not of \[3, 7850\]",
    ),
    "a model too short": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys), history.end, None, history.current[:, 1:]
        ),
        r"a published of \[3, 7849\], not of \[3, 7850\]",
    ),
    "one sigma": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys), history.end, Promise(1.0, 0.1, sigma=torch.tensor(0.1))
        ),
        r"a promise of \[\], not of \[3\]",
    ),
    "a number for sigma": (
        lambda history, request, server, keys: Unlearned(
            server.recover(history.current, keys),
            history.end,
            Promise(1.0, 0.1, sigma=0.1),  # type: ignore[arg-type]
        ),
        r"a promise of float, not of \[3\]",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_is_one_sentence_that_names_the_method(wrong: str) -> None:
    answers, words = WRONG[wrong]
    with pytest.raises(MethodError, match=rf"method tried: .*{words}"):
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
