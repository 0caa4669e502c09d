"""FedRecovery: a correction no longer than one round's, none for a client that is like the others, and its noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sifu.certificate.gaussian import largest_ratio
from sifu.certificate.noise import actual_guarantee
from sifu.config.certificate import Certificate
from sifu.contract import method_checks as checks
from sifu.contract.world import SCENARIO, World, masks, trained
from sifu.core.keys import Keys
from sifu.errors import ConfigError
from sifu.federation.stop import Stop
from sifu.plan.variants import build_method
from sifu.unlearning.contribution import contributions
from sifu.unlearning.method import CertifiedMethod, Method, Promise
from sifu.unlearning.request import Request
from sifu.unlearning.sequence import Answer, answer_request
from sifu.unlearning.worlds import Asker, both_worlds
from tests.quadratic_clients import (
    CENTRES,
    CLIENTS,
    ETA,
    GONE,
    REMAIN,
    R,
    forgotten_by,
    lineage_of,
    quadratic_lineage,
    scenario,
)

STRICT = replace(SCENARIO.certificate, preset="strict")


def fed_recovery(certificate: Certificate = SCENARIO.certificate, **settings: Any) -> Method:
    return build_method("fed_recovery", settings, certificate)


def test_a_client_like_the_mean_of_the_others_changes_nothing() -> None:
    centres = CENTRES.copy()
    centres[GONE] = np.mean(centres[REMAIN], axis=0)
    history = lineage_of(12, centres)
    model, server = forgotten_by(fed_recovery(), history)
    torch.testing.assert_close(model, history.current[0], rtol=0, atol=1e-12)
    assert server.spent.client_steps.tolist() == [0]


def correction(world: World, forget: Tensor) -> Tensor:
    """c of a first request: with all residuals in one array, as a server that stored everything would do. [S, P]"""
    rounds = list(contributions(world.lineage, Request.of(1, forget, torch.ones_like(forget))))
    residual = torch.stack([one.residual.double() for one in rounds])  # [T, S, P]
    weight = torch.stack([one.together.double().square().sum(1) for one in rounds])  # [T, S]
    weight = weight / weight.sum(0)
    found = (weight[..., None] * residual).sum(0)
    assert (found.norm(dim=1) <= residual.norm(dim=2).amax(0) * (1 + 1e-4)).all()
    return found


def test_the_correction_is_a_mean_of_residuals() -> None:
    """The weights add up to 1."""
    world, forget = World.make(), masks(7, 3)[1]
    (answer,) = world.answer(fed_recovery(), [forget], rounds=0)
    taken = world.lineage.current - answer.unlearned.weights
    torch.testing.assert_close(taken, correction(world, forget).float(), rtol=1e-3, atol=1e-5)
    assert answer.unlearned.promise is None


def test_noise_has_the_sigma_that_is_asked_for() -> None:
    world = World.make()
    plain, noisy = (
        world.answer(fed_recovery(sigma=sigma), masks(7, 3)[:1], rounds=0)[0].unlearned.weights for sigma in (0.0, 0.5)
    )
    assert torch.allclose((noisy - plain).std(dim=1), torch.tensor(0.5), rtol=0.05)


# --- the noise that hides Psi(N) and the correction


@cache
def hidden() -> list[Answer]:
    """Three requests, with a certificate that holds for all who left."""
    return trained(SCENARIO).answer(fed_recovery(STRICT, noise="hidden"))


def promised(answer: Answer) -> Promise:
    assert answer.unlearned.promise is not None
    return answer.unlearned.promise


def test_psi_the_correction_and_alpha_on_quadratics() -> None:
    """With B = 1 - eta, g = mean(c) - mean of the others and r^N = 0: Psi(N) = |g|, |c| = (1 - r) |g|, alpha = r |g|.

    A round adds (1 - r) |g| to Psi and multiplies what is there by r; each delta_n is (1 - r) g, and so is their mean.
    c goes straight to retraining, so that |g| - |c| would be enough; what can be proved is |g| + |c|.
    """
    certificate = Certificate(sigma=0.02, preset="strict", contraction=1 - ETA)
    forget = torch.zeros(1, CLIENTS, dtype=torch.bool)
    forget[:, GONE] = True
    stop = Stop(None, 0, torch.zeros(1, dtype=torch.int64))
    known = replace(scenario(), certificate=certificate)
    method = fed_recovery(certificate, noise="hidden")
    answer, _ = answer_request(method, quadratic_lineage(30), forget, known, lambda request: stop, Keys.of([0]))
    gap = float(np.linalg.norm(CENTRES.mean(0) - CENTRES[REMAIN].mean(0)))
    promise, worth = promised(answer), answer.worth
    assert worth is not None
    assert worth.alpha is not None
    for psi in (promise.psi, worth.psi, worth.single_psi, worth.everyone_psi):
        assert psi is not None
        assert psi.tolist() == pytest.approx([gap + (1 - R) * gap], abs=1e-6)
    assert worth.alpha.tolist() == pytest.approx([R * gap], abs=1e-6)
    ratio = largest_ratio(certificate.epsilon, certificate.delta, "analytic")
    assert promise.sigma.tolist() == pytest.approx([(2 - R) * gap / ratio], abs=1e-6)


def test_every_request_corrects_the_training_for_all_who_left() -> None:
    """The second request has the model of one that asks for both at once: no recovery and no noise before it matter."""
    world, requests = trained(SCENARIO), masks(7, 2)
    at_once = world.answer(fed_recovery(STRICT, noise="hidden"), [requests[0] | requests[1]])[0]
    later = promised(hidden()[1])
    assert torch.equal(later.blurred, promised(at_once).blurred)  # type: ignore[arg-type]
    assert torch.equal(later.sigma, promised(at_once).sigma)
    taken = world.lineage.current - promised(at_once).blurred  # type: ignore[operator]
    torch.testing.assert_close(taken, correction(world, requests[0] | requests[1]).float(), rtol=1e-3, atol=1e-5)
    for answer, left in zip(hidden(), (1, 3, 4), strict=True):
        assert answer.unlearned.node.branch.tolist() == [0, 0]
        assert answer.unlearned.node.round.tolist() == [8, 8]
        assert promised(answer).everyone
        assert promised(answer).covers.tolist() == [left] * 2  # type: ignore[union-attr]


def test_it_is_compared_with_the_training_without_the_clients() -> None:
    """alpha: from theta' to as many rounds without all who left. Psi: strictly, and the correction; as is promised."""
    training, engine = trained(SCENARIO).lineage.segments[0], trained(SCENARIO).lineage.engine
    for answer in hidden()[:2]:  # after the third, four of seven have left: too few are waiting for a bound
        promise, worth = promised(answer), answer.worth
        assert worth is not None
        assert worth.alpha is not None
        for s in range(2):
            phi, row = training.start[[s]], torch.tensor([s])
            for number in range(int(training.rounds[s])):
                key = Keys(training.key_state[row])
                phi = engine.round(phi, row, torch.tensor([number]), answer.request.remain[row], key).weights
            distance = float((promise.blurred[s] - phi[0]).double().norm())  # type: ignore[index]
            assert float(worth.alpha[s]) == pytest.approx(distance, rel=1e-4)
        assert (worth.alpha < worth.psi).all()
        assert (worth.alpha > 1e-3).all()
        torch.testing.assert_close(worth.psi, promise.psi, rtol=1e-4, atol=0)
        torch.testing.assert_close(worth.actual[0], torch.full((2,), 10.0, dtype=torch.float64), rtol=1e-3, atol=0)


def test_a_promise_to_each_client_alone_is_counted_for_all_together() -> None:
    """As published: the noise hides less than the clients of the request together."""
    (answer,) = trained(SCENARIO).answer(fed_recovery(noise="hidden"), masks(7, 2)[1:2], rounds=0)
    promise, worth = promised(answer), answer.worth
    assert worth is not None
    assert promise.covers is not None
    assert (promise.covers.tolist(), promise.everyone) == ([1, 1], False)
    assert (worth.single_psi < worth.psi).all()
    epsilon, delta = actual_guarantee(promise.epsilon, promise.delta, worth.psi, promise.sigma)
    assert (epsilon > promise.epsilon).all()
    torch.testing.assert_close((epsilon, delta), worth.actual)


def test_an_audit_attacks_the_corrected_model() -> None:
    """Both worlds before their noise: theta', and the training without the clients, to which nothing is corrected."""
    world, forget = trained(SCENARIO), masks(7, 2)[1][0]
    asker = Asker(fed_recovery(STRICT, noise="hidden"), SCENARIO, Keys.of(world.seeds))
    (found,) = both_worlds(asker, world.lineage, [forget], [1])
    joined, _, began, never = found.sample
    assert found.promise is not None
    assert torch.equal(began, found.promise.blurred)  # type: ignore[arg-type]
    assert (began != world.lineage.current).any()
    spread = (joined - began).double().norm(dim=1) / joined.shape[1] ** 0.5
    torch.testing.assert_close(spread, found.promise.sigma, rtol=0.05, atol=0)
    (answer,) = world.answer(asker.method, [forget.expand(2, -1)], rounds=0)
    assert answer.worth is not None
    torch.testing.assert_close((began - never).double().norm(dim=1), answer.worth.alpha, rtol=1e-4, atol=0)


@pytest.mark.parametrize("check", [checks.check_promise, checks.check_forgotten_data, checks.check_seed_by_seed])
def test_the_contract_with_noise(check: Any) -> None:
    check(fed_recovery(noise="hidden"))


def test_its_noise_is_of_one_kind() -> None:
    with pytest.raises(ConfigError, match=r"follows from Psi\(N\)"):
        fed_recovery(noise="hidden", sigma=0.1)
    given, hiding = fed_recovery(), fed_recovery(noise="hidden")
    assert isinstance(given, CertifiedMethod)
    assert isinstance(hiding, CertifiedMethod)
    assert (given.on_the_past, hiding.on_the_past) == (False, True)  # whose trainings without the clients are shared
    assert given.keeps < hiding.keeps
