"""F2L2: its solve against dense algebra, its bound against the true minimiser, and the noise that it really adds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.autograd.functional import hessian
from torch.func import grad
from torch.nn.functional import cross_entropy

from sifu.certificate.convex import constants_of
from sifu.certificate.gaussian import largest_ratio
from sifu.certificate.newton import conjugate_gradients, hessian_product, with_ones
from sifu.certificate.rules import delta_of
from sifu.contract.world import CONVEX, SCENARIO, World, masks, trained
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.errors import MethodRefused
from sifu.federation.stop import Stop
from sifu.plan.variants import build_method
from sifu.unlearning.method import Promise
from sifu.unlearning.sequence import Answer, answer_request

S, N, D, K = 2, 9, 4, 3


def draws(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_a_product_is_the_change_of_the_gradient() -> None:
    """Finite differences of the gradient of the cross-entropy, which autograd gives."""
    inputs, matrix, v = draws(S, N, D), draws(S, K, D, seed=1), draws(S, K, D, seed=2)
    labels = torch.arange(N) % K
    product = hessian_product(inputs, 0.3, matrix)(v)
    for s in range(S):
        slope = grad(lambda w, s=s: cross_entropy(inputs[s] @ w.T, labels) + 0.15 * w.square().sum())
        change = (slope(matrix[s] + 1e-5 * v[s]) - slope(matrix[s] - 1e-5 * v[s])) / 2e-5
        torch.testing.assert_close(product[s], change, rtol=1e-7, atol=1e-8)


def test_conjugate_gradients_solve_the_dense_equations() -> None:
    inputs, matrix, target = draws(S, N, D), draws(S, K, D, seed=1), draws(S, K, D, seed=2)
    labels = torch.arange(N) % K
    found = conjugate_gradients(hessian_product(inputs, 0.3, matrix), target)
    for s in range(S):
        dense = hessian(
            lambda w, s=s: cross_entropy(inputs[s] @ w.view(K, D).T, labels) + 0.15 * w.square().sum(),
            matrix[s].flatten(),
        )
        torch.testing.assert_close(found[s].flatten(), torch.linalg.solve(dense, target[s].flatten()))


def test_no_gradient_is_no_step_and_moves_no_other_seed() -> None:
    target = draws(S, K, D)
    target[0] = 0
    product = hessian_product(draws(S, N, D, seed=1), 0.1)
    found = conjugate_gradients(product, target)
    assert not found[0].any()
    torch.testing.assert_close(product(found), target)


def test_squared_loss_and_the_remaining_data_at_the_server_need_one_solve() -> None:
    """No penalty, H_s = H: from any theta the step ends at the least-squares solution of the remaining data."""
    inputs, wanted = with_ones(draws(S, N, 1, 1, D - 1)), draws(S, N, K, seed=1)
    solution = torch.linalg.lstsq(inputs, wanted).solution.mT  # [S, K, D]
    for seed in (2, 3):
        theta = 10 * draws(S, K, D, seed=seed)
        gradient = (inputs @ theta.mT - wanted).mT @ inputs / N
        found = theta - conjugate_gradients(hessian_product(inputs, 0.0), gradient, tolerance=1e-13)
        torch.testing.assert_close(found, solution, rtol=1e-6, atol=1e-8)


def answers(world: World) -> list[Answer]:
    return world.answer(build_method("f2l2", {}, CONVEX.certificate))


def promised(answer: Answer) -> Promise:
    assert answer.unlearned.promise is not None
    return answer.unlearned.promise


def minimiser(clients: Clients, remain: Tensor, s: int) -> Tensor:
    """theta* of the remaining clients' examples, by Newton's method on the dense Hessian. [K, D] with the bias last"""
    held = [clients.images[s, c, : clients.size[s, c]].double() for c in range(len(remain)) if remain[c]]
    labels = torch.cat([clients.labels[s, c, : clients.size[s, c]] for c in range(len(remain)) if remain[c]])
    inputs, decay = with_ones(torch.cat(held)[None])[0], CONVEX.federation.weight_decay
    matrix = torch.zeros(10, inputs.shape[1], dtype=torch.float64)
    for _ in range(10):
        wrong = torch.softmax(inputs @ matrix.T, dim=1) - torch.eye(10, dtype=torch.float64)[labels]
        gradient = wrong.T @ inputs / len(inputs) + decay * matrix
        matrix = matrix - conjugate_gradients(hessian_product(inputs[None], decay, matrix[None]), gradient[None])[0]
    assert float(gradient.norm()) < 1e-10
    return matrix


def test_the_bound_holds_for_three_requests() -> None:
    """||theta' - theta*|| and the distance to retraining for as many rounds, both below what the noise hides."""
    world = trained(CONVEX)
    clients, constants = world.lineage.engine.clients, constants_of(CONVEX)
    for answer in answers(world):
        promise = promised(answer)
        assert promise.blurred is not None
        assert promise.psi is not None
        for s in world.seeds:
            best = minimiser(clients, answer.request.remain[s], s)
            best = torch.cat([best[:, :-1].flatten(), best[:, -1]])  # as a row: weights, then biases
            gap = float((promise.blurred[s].double() - best).norm())
            start = float((world.lineage.start[s].double() - best).norm())
            assert gap + start * constants.step ** int(world.lineage.segments[0].rounds[s]) <= float(promise.psi[s])
            assert gap > 1e-3  # there is something to hide


def test_the_step_goes_to_the_minimiser() -> None:
    """Newton's step for the remaining clients, with another Hessian: most of the way from theta^N is gone by it."""
    world = trained(CONVEX)
    (answer, *_), theta = answers(world), world.lineage.current.double()
    solved = promised(answer).blurred
    assert solved is not None
    for s in world.seeds:
        best = minimiser(world.lineage.engine.clients, answer.request.remain[s], s)
        best = torch.cat([best[:, :-1].flatten(), best[:, -1]])
        before, after = (float((row - best).norm()) for row in (theta[s], solved[s].double()))
        step = float((solved[s].double() - theta[s]).norm())
        assert after < before - step / 2


def test_the_noise_is_that_of_the_analytic_mechanism() -> None:
    ratio = largest_ratio(CONVEX.certificate.epsilon, delta_of(CONVEX.certificate, 7), "analytic")
    for number, answer in enumerate(answers(trained(CONVEX)), start=1):
        promise = promised(answer)
        torch.testing.assert_close(promise.psi, promise.sigma * ratio)
        assert promise.everyone
        assert promise.covers is not None
        assert promise.covers.tolist() == [(1, 3, 4)[number - 1]] * 2  # clients forgotten so far


def test_the_certificate_is_compared_with_retraining() -> None:
    """alpha is the distance to as many rounds of FedAvg from the same start, without all who were forgotten so far."""
    world = trained(CONVEX)
    training, engine = world.lineage.segments[0], world.lineage.engine
    for answer in answers(world):
        promise, worth = promised(answer), answer.worth
        assert worth is not None
        assert worth.alpha is not None
        for s in world.seeds:
            phi, row = training.start[[s]], torch.tensor([s])
            for number in range(int(training.rounds[s])):
                key = Keys(training.key_state[row])
                phi = engine.round(phi, row, torch.tensor([number]), answer.request.remain[row], key).weights
            distance = float((promise.blurred[s] - phi[0]).double().norm())  # type: ignore[index]
            assert float(worth.alpha[s]) == pytest.approx(distance, rel=1e-4)
        assert (worth.alpha <= promise.psi).all()
        assert (worth.alpha > 1e-3).all()
        assert torch.equal(worth.psi, promise.psi)
        torch.testing.assert_close(worth.actual[0], torch.full_like(worth.alpha, promise.epsilon))


def test_a_bound_that_is_too_small_is_found() -> None:
    """A tenth of the noise, with the bound that would allow it: the measured distance says what it is worth."""
    world = trained(CONVEX)
    answer = answers(world)[0]
    promise = promised(answer)
    short = replace(promise, psi=promise.psi / 100, sigma=promise.sigma / 100)
    lying = replace(answer, unlearned=replace(answer.unlearned, promise=short))
    assert lying.worth is not None
    assert (lying.worth.actual[0] > 2 * promise.epsilon).all()


def test_two_gradients_are_counted() -> None:
    """Without recovery: two rounds, one step each of the 6 remaining clients; a model down and one up each time."""
    answer, *_ = trained(CONVEX).answer(build_method("f2l2", {}, CONVEX.certificate), rounds=0)
    weights = answer.unlearned.weights.shape[1]
    assert answer.work.rounds.tolist() == [2, 2]
    assert answer.work.client_steps.tolist() == [12, 12]
    assert answer.work.comm_floats.tolist() == [24 * weights] * 2


def test_the_remaining_data_at_the_server_need_less_noise() -> None:
    """Newton's own step leaves an error of second order; another server's Hessian one of first order."""
    world = trained(CONVEX)
    clients, (forget, *_) = world.lineage.engine.clients, masks(7, 2)
    remain = [c for c in range(7) if not forget[0, c]]
    images, labels = (
        torch.stack([torch.cat([part[s, c, : clients.size[s, c]] for c in remain]) for s in world.seeds])[:, None]
        for part in (clients.images, clients.labels)
    )
    same = Clients(images, labels, torch.full((2, 1), images.shape[2]))
    own, other = (promised(answers(one)[0]).psi for one in (world.with_server_data(same), world))
    assert own is not None
    assert other is not None
    assert (own < other).all()


def test_without_a_budget_the_noise_hides_the_longest_way_to_the_minimiser() -> None:
    """Nobody can be asked: theta' = theta^N, and e = ||theta^N|| + 2 / lambda, whatever the data."""
    world, (forget, *_), constants = trained(CONVEX), masks(7, 2), constants_of(CONVEX)
    stop = Stop.at_budget(torch.zeros(2, dtype=torch.int64), torch.full((2,), 6))
    method, keys = build_method("f2l2", {}, CONVEX.certificate), Keys.of(world.seeds)
    answer, _ = answer_request(method, world.lineage, forget, CONVEX, lambda request: stop, keys)
    promise, theta = promised(answer), world.lineage.current
    assert promise.blurred is not None
    assert torch.equal(promise.blurred, theta)
    assert answer.work.client_steps.tolist() == [0, 0]
    error = theta.double().norm(dim=1) + 2 / CONVEX.federation.weight_decay
    away = (world.lineage.start - theta).double().norm(dim=1)
    torch.testing.assert_close(promise.psi, error + (away + error) * 0.8**8 + 2 * constants.rounding)


@pytest.mark.parametrize(
    ("scenario", "words"), [(SCENARIO, "strongly convex"), (replace(CONVEX, model="cnn28"), "model: logistic")]
)
def test_other_scenarios_are_refused_in_one_sentence(scenario: object, words: str) -> None:
    with pytest.raises(MethodRefused, match=words):
        answers(replace(trained(CONVEX), scenario=scenario))


def test_a_server_without_data_is_refused() -> None:
    with pytest.raises(MethodRefused, match=r"set partition\.server_share"):
        answers(trained(CONVEX).with_server_data(None))
