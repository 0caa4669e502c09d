"""The controls: scratch with other draws, scratch with noise alone, and SIFU's noise at the end of recovery."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO, trained
from sifu.core.types import Status
from sifu.errors import MethodError
from sifu.federation.stop import Stop
from sifu.methods.scratch_again import ScratchAgain
from sifu.plan.variants import build_method
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.method_types import History, Keys, Request, Server
from sifu.unlearning.sequence import Answer, answer_requests


def answers(name: str, scenario: Scenario = SCENARIO, **settings: str) -> list[Answer]:
    world = replace(trained(SCENARIO), scenario=scenario)
    return world.answer(build_method(name, settings, scenario.certificate))


def with_certificate(**changes: float) -> Scenario:
    return replace(SCENARIO, certificate=replace(SCENARIO.certificate, **changes))  # type: ignore[arg-type]


def test_scratch_again_shares_no_draw_with_scratch() -> None:
    """The same initial model, but other cohorts and batches: other weights."""
    for first, second in zip(answers("scratch"), answers("scratch_again"), strict=True):
        one, two = first.unlearned.segment, second.unlearned.segment
        assert torch.equal(one.start, two.start)
        assert (one.key_state != two.key_state).all()
        assert (one.final != two.final).any(1).all()
        few = int(first.request.remain[0].sum()) == SCENARIO.federation.clients_per_round  # there is but one cohort
        assert torch.equal(one.trace.cohort, two.trace.cohort) == few


def test_another_start_is_a_new_draw_of_the_same_kind() -> None:
    """A logistic model on 784 pixels starts with U(-1/28, 1/28): standard deviation 1 / (28 sqrt(3)) = 0.0206."""
    old = trained(SCENARIO).lineage.start
    starts = [answer.unlearned.segment.start for answer in answers("scratch_again", start="new")]
    for start in starts:
        assert (start != old).any(1).all()
        assert start.abs().max() <= 1 / 28
        assert float(start.std()) == pytest.approx(1 / (28 * 3**0.5), rel=0.02)
    assert (starts[0] != starts[1]).any(1).all(), "every request has a start of its own"


class ClaimsAStart(ScratchAgain):
    """Gives back a model as freshly drawn that is not."""

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return replace(super().unlearn(history, request, server, keys), initial=history.current)


def test_a_start_must_be_drawn_by_the_server() -> None:
    with pytest.raises(MethodError, match=r"was not drawn by `server\.new_start`"):
        trained(SCENARIO).answer(ClaimsAStart())


def test_sifu_that_goes_back_to_the_start_is_blurred_scratch() -> None:
    """With next to no noise SIFU keeps no round that a forgotten client took part in: here none at all."""
    scenario = with_certificate(sigma=1e-7)
    sifu, blurred = (answers(name, scenario)[0] for name in ("sifu", "blurred_scratch"))
    back = sifu.unlearned.node.round == 0
    assert back.any()
    assert torch.equal(sifu.unlearned.weights[back], blurred.unlearned.weights[back])


def test_blurred_scratch_is_exact_whatever_the_noise() -> None:
    for answer in answers("blurred_scratch"):
        assert answer.worth is not None
        assert answer.unlearned.promise is not None
        assert answer.unlearned.promise.sigma.tolist() == [0.02, 0.02]
        assert [values.tolist() for values in answer.worth.actual] == [[0.0, 0.0], [0.0, 0.0]]


def test_noise_at_the_end_leaves_the_branch_secret() -> None:
    """The cut is the same, the branch has no noise, and what is given out is the branch's end plus noise."""
    early, late = answers("sifu")[0], answers("sifu", noise="end")[0]
    assert torch.equal(early.unlearned.node.round, late.unlearned.node.round)
    clean = trained(SCENARIO).lineage.at(late.unlearned.node.round, late.unlearned.node.branch)
    assert torch.equal(late.unlearned.segment.start, clean)
    noise = late.unlearned.weights - late.unlearned.segment.final
    assert float(noise.std()) == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize(("contraction", "factor"), [(1.0, 1.0), (0.9, 0.9**8), (1.1, 1.1**8)])
def test_recovery_scales_the_distance_that_noise_at_the_end_hides(contraction: float, factor: float) -> None:
    """4 rounds of 2 local steps: B^8 times the Psi of the cut, as the method counts it and strictly."""
    scenario = with_certificate(contraction=contraction)
    early, late = answers("sifu", scenario)[0], answers("sifu", scenario, noise="end")[0]
    for before, after in (
        (early.unlearned.promise.psi, late.unlearned.promise.psi),  # type: ignore[union-attr]
        (early.worth.psi, late.worth.psi),  # type: ignore[union-attr]
    ):
        assert before is not None
        assert after is not None
        torch.testing.assert_close(after, before * factor)


def test_a_given_out_model_that_misses_the_target_says_so() -> None:
    """The secret model learns its 46 random images by heart; under noise of 3 on each weight nothing is left of it."""
    world = trained(SCENARIO)
    stop = Stop(0.6, 0, torch.full((2,), 200))

    def status(method: Method) -> tuple[Status, ...]:
        keys = Keys.of(world.seeds).fold("unlearn")
        forget = [torch.arange(7).expand(2, -1) == 1]
        (answer,) = answer_requests(method, world.lineage, forget, world.scenario, lambda request: stop, keys)
        return answer.unlearned.segment.status

    quiet, loud = (replace(SCENARIO.certificate, sigma=sigma) for sigma in (1e-6, 3.0))
    assert status(build_method("sifu", {"noise": "end"}, quiet)) == (Status.DONE, Status.DONE)
    assert status(build_method("sifu", {"noise": "end"}, loud)) == (Status.NOT_REACHED, Status.NOT_REACHED)
