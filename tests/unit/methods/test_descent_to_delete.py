"""The strongly convex case: constants, contraction, and that both certificates are theorems there."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd.functional import hessian
from torch.func import grad
from torch.nn.functional import cross_entropy

from sifu.certificate.alpha import measure_alpha
from sifu.certificate.contraction import strongly_convex
from sifu.certificate.convex import Constants, constants_of
from sifu.certificate.noise import descent_sigma
from sifu.certificate.rules import round_factor
from sifu.certificate.sensitivity import single_client_psi
from sifu.config.fields import build
from sifu.config.scenario import Scenario
from sifu.contract.world import CONVEX, SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.errors import MethodRefused
from sifu.federation.stop import Stop
from sifu.methods.descent_to_delete import DescentToDelete
from sifu.plan.variants import build_method
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.request import Request
from sifu.unlearning.sequence import answer_requests
from sifu.unlearning.server import Server
from tests.conftest import REPO
from tests.contract.answer import unlearn

CONSTANTS = constants_of(CONVEX)


def test_constants_by_hand() -> None:
    """lambda = 0.2, R^2 = 2: beta = 1 + 0.2, optimum within 2 / 0.2, gradients at most 2 x 2, step 1 - 1 x 0.2."""
    assert pytest.approx(Constants(1.2, 0.2, 10.0, 4.0, 0.8)) == CONSTANTS
    assert float(CONSTANTS.moves(torch.tensor(0.1))) == pytest.approx(0.1 / 0.9 * 4 / 0.2)


@given(st.integers(0, 10**6), st.floats(0.0, 30.0))
@hypothesis_settings(max_examples=20)
def test_the_constants_hold_for_any_images_and_weights(seed: int, scale: float) -> None:
    """Smoothness, strong convexity and longest gradient of a small softmax regression, the bias as a feature."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(6, 5, generator=generator, dtype=torch.float64)
    images = torch.cat([images / images.norm(dim=1, keepdim=True), torch.ones(6, 1)], dim=1)  # [n, D + 1]
    labels = torch.randint(3, (6,), generator=generator)
    weights = scale * torch.randn(18, generator=generator, dtype=torch.float64)

    def loss(flat: Tensor) -> Tensor:
        return cross_entropy(images @ flat.view(3, 6).T, labels) + 0.1 * flat.square().sum()

    eigenvalues = torch.linalg.eigvalsh(hessian(loss, weights))
    assert float(eigenvalues[-1]) <= CONSTANTS.beta + 1e-9
    assert float(eigenvalues[0]) >= CONSTANTS.mu - 1e-9
    of_the_data = grad(loss)(weights) - 0.2 * weights
    assert float(of_the_data.norm()) <= CONSTANTS.gradient / 2 + 1e-9


@pytest.mark.parametrize("name", ["smoke_convex", "mnist_convex"])
def test_the_contraction_of_the_scenarios_is_that_of_the_theorem(name: str) -> None:
    """1 - 1.88 x 1.03 x 0.03 / 1.06 = 0.945197, rounded up."""
    raw = yaml.safe_load((REPO / "config" / "scenarios.yaml").read_text())[name]
    found = build(Scenario, raw, name)
    constants = constants_of(found)
    exact = strongly_convex(constants.beta, constants.mu, found.federation.client_lr)
    assert exact == pytest.approx(0.945197, abs=1e-6)
    assert exact <= found.certificate.contraction < exact + 1e-4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weight_decay": 0.0}, "weight_decay above 0"),
        ({"local_steps": 2}, "local_steps: 1"),
        ({"clients_per_round": 3}, "all clients in every round"),
        ({"batch_size": 4}, "full batches"),
        ({"clip": 1.0}, "neither clipping nor noise"),
    ],
)
def test_other_federations_are_refused_with_the_reason(changes: dict[str, float], words: str) -> None:
    with pytest.raises(MethodRefused, match=words):
        constants_of(replace(CONVEX, federation=replace(CONVEX.federation, **changes)))  # type: ignore[arg-type]


def test_steps_that_are_too_long_and_other_scenarios_are_refused() -> None:
    with pytest.raises(MethodRefused, match=r"2 / \(beta \+ mu\)"):
        constants_of(replace(CONVEX, federation=replace(CONVEX.federation, client_lr=1.5)))
    with pytest.raises(MethodRefused, match="weight_decay above 0"):
        constants_of(SCENARIO)
    with pytest.raises(MethodRefused, match="weight_decay"):
        World.make().answer(build_method("descent_to_delete", {}, SCENARIO.certificate))


def retrained(world: World, forget: Tensor, rounds: int) -> Tensor:
    """As many rounds of the remaining clients from the first weights. [S, P]"""
    engine, history = world.lineage.engine, world.lineage
    stop = Stop(None, 0, torch.full((3,), rounds))
    return engine.run(history.start, ~forget, Keys.of(world.seeds), stop).final


@pytest.mark.parametrize("preset", ["published", "strict"])
def test_the_secret_model_is_as_near_to_retraining_as_promised(preset: str) -> None:
    """Three requests, one of them of a set."""
    world, clients = World.make(scenario=CONVEX), masks(7, 3)
    method = build_method("descent_to_delete", {}, replace(CONVEX.certificate, preset=preset))
    gone = torch.zeros_like(clients[0])
    for answer, forget in zip(world.answer(method, clients), clients, strict=True):
        gone = gone | forget
        claim = answer.unlearned.promise
        assert claim is not None
        assert claim.psi is not None
        assert answer.worth is not None
        distance = (answer.unlearned.segment.final - retrained(world, gone, 8)).norm(dim=1)
        assert (distance <= claim.psi).all()
        assert (answer.worth.psi <= claim.psi).all(), "Psi, from what was seen, is below the worst case"


def test_psi_with_b_below_one_is_a_bound_there() -> None:
    """SIFU's theorem for strongly convex losses: alpha(n, c) <= Psi(n, c) with B = 0.828571."""
    world = World.make(scenario=CONVEX)
    segment, size = world.lineage.segments[0], world.lineage.engine.clients.size
    rows, clients = torch.arange(3).repeat_interleave(7), torch.arange(7).repeat(3)
    alpha = measure_alpha(world.lineage.engine, segment, rows, torch.nn.functional.one_hot(clients, 7).bool())
    factor = round_factor(CONVEX.certificate, CONVEX.federation)
    assert factor == pytest.approx(1 - 1.2 * 0.2 / 1.4)
    psi = single_client_psi(segment, size, "cohort", factor)[rows, :, clients]
    assert (alpha <= psi * (1 + 1e-4) + 1e-6).all()
    assert float(alpha[:, -1].min()) > 0


def noise_after(rounds: int, trained: int) -> tuple[Tensor, Tensor]:
    """Claimed distance and noise when a single request is answered with `rounds` rounds after `trained` rounds."""
    world = World.make(scenario=CONVEX)
    engine, history = world.lineage.engine, world.lineage
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    long = engine.run(history.start, everyone, Keys.of(world.seeds), Stop(None, 0, torch.full((3,), trained)))
    request = Request.of(1, masks(7, 3)[0], everyone)
    server = Server(engine, request, Stop(None, 0, torch.full((3,), rounds)), CONVEX)
    method = DescentToDelete(certificate=CONVEX.certificate)
    claim = unlearn(method, Lineage.of(engine, long), request, server, Keys.of(world.seeds)).promise
    assert claim is not None
    assert claim.psi is not None
    return claim.psi, claim.sigma


def test_the_closed_form_is_the_limit() -> None:
    """After a long training a request of I rounds leaves gamma^I p L / (mu (1 - p)); client 1 has 5 of 46 examples."""
    weight = torch.tensor(5 / 46)
    distance, sigma = noise_after(5, 120)
    expected = 0.8**5 * float(CONSTANTS.moves(weight))
    rounding = 2 * CONSTANTS.rounding
    torch.testing.assert_close(distance, torch.full((3,), expected + rounding).double(), rtol=1e-6, atol=1e-6)
    log = math.log(100)
    assert float(sigma[0]) == pytest.approx(
        (expected + rounding) / (math.sqrt(2) * (math.sqrt(log + 10) - math.sqrt(log))), rel=1e-6
    )


@pytest.mark.long
def test_noise_goes_down_to_that_of_rounding() -> None:
    """16 units in the last place of 10, over 1 - 0.8, twice: 1.9e-4; no claim is below what float32 can keep."""
    assert CONSTANTS.rounding == pytest.approx(16 * 2.0**-23 * 10 / 0.2)
    distance = noise_after(200, 200)[0]
    torch.testing.assert_close(distance, torch.full((3,), 2 * CONSTANTS.rounding).double(), rtol=1e-6, atol=0.0)


@pytest.mark.long
def test_the_claim_holds_after_many_rounds() -> None:
    """Where the distance itself is below the rounding of float32."""
    world = World.make(scenario=CONVEX)
    engine, history = world.lineage.engine, world.lineage
    everyone, long = torch.ones_like(engine.clients.size, dtype=torch.bool), Stop(None, 0, torch.full((3,), 150))
    trained = engine.run(history.start, everyone, Keys.of(world.seeds), long)
    forget = masks(7, 3)[1]
    request = Request.of(1, forget, everyone)
    method = DescentToDelete(certificate=CONVEX.certificate)
    server = Server(engine, request, long, CONVEX)
    found = unlearn(method, Lineage.of(engine, trained), request, server, Keys.of(world.seeds))
    assert found.promise is not None
    assert found.promise.psi is not None
    assert ((found.segment.final - retrained(world, forget, 150)).norm(dim=1) <= found.promise.psi).all()


def test_the_target_is_asked_of_the_model_that_is_given_out() -> None:
    """One round of recovery: the noise is enormous, and the secret model's accuracy is no excuse."""
    world = World.make(scenario=CONVEX)
    engine, forget = world.lineage.engine, masks(7, 3)[0]
    secret = engine.evaluator.correct(world.lineage.current, torch.arange(3)) * ~forget
    target = float((secret.sum(1) / (engine.clients.size * ~forget).sum(1)).min()) - 0.02  # all meet it as they are
    stop = Stop(target, 0, torch.full((3,), 1))
    method = build_method("descent_to_delete", {}, CONVEX.certificate)
    (answer,) = answer_requests(method, world.lineage, [forget], CONVEX, lambda _: stop, Keys.of(world.seeds))
    given = engine.evaluator.correct(answer.unlearned.weights, torch.arange(3)) * ~forget
    accuracy = given.sum(1) / (engine.clients.size * ~forget).sum(1)
    expected = [Status.DONE if one >= target else Status.NOT_REACHED for one in accuracy.tolist()]
    assert list(answer.unlearned.segment.status) == expected
    assert Status.NOT_REACHED in expected


def test_the_papers_noise_hides_more_than_is_there() -> None:
    """By zero-concentrated privacy sigma is larger than the exact mechanism needs, at every epsilon."""
    distance = torch.tensor([1.0], dtype=torch.float64)
    for epsilon in (0.5, 1.0, 5.0, 10.0):
        certificate = replace(CONVEX.certificate, epsilon=epsilon)
        exact = descent_sigma(replace(certificate, preset="strict"), 7, distance)
        assert float(descent_sigma(certificate, 7, distance)) > float(exact)
