"""F2L2 (Jin et al. 2023): a Newton step towards the remaining clients, with the Hessian of the server's inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.certificate.rules import delta_of
from sifu.config.optimiser import Sgd
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, CertifiedMethod, Promise, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.certificate.convex import Constants
    from sifu.unlearning.asked import Asked
    from sifu.unlearning.method_types import History, Keys, Request, Server


class F2l2(CertifiedMethod):
    """theta' = theta^N - v with H_s v = g, then N(0, sigma^2); recovery follows, as with every method.

    g is the gradient of the remaining clients' mean loss F at theta^N, one full batch of each; H_s is the Hessian of
    the server's inputs, penalty included; v is found by conjugate gradients. The paper linearises a network and has a
    squared loss; here it is logistic regression with its cross-entropy, strongly convex: other scenarios are refused.

    The distance of theta' to the minimiser is at most e = ||grad F(theta')|| / mu, for which the clients are asked once
    more. For a quadratic F with Hessian H that gradient is (H - H_s) v, so that e is no less than the gap between both
    solves, ||H_s^{-1} (H - H_s) H^{-1} g||; for any other F it also has what linearising leaves out. Retraining for
    N rounds ends within gamma^N (||theta^0 - theta'|| + e) of the minimiser. The noise hides the sum of both, and what
    float32 may add, by the analytic mechanism. The authors' code adds none. sigma itself is measured with the model.
    Sequential: g and e are of the clients that remain now; the bound needs no past, so it covers all who left.
    """

    name = "f2l2"
    specified_from = "authors' code: Nanboy-Ronan/2F2L-Federated-Unlearning 3de5cd9"
    assumptions = Assumptions(
        convex=True, server_data=True, stores="the initial model", reference="Jin et al., 2023 (F2L2)"
    )
    keeps = frozenset({Kept.START})  # how far retraining has to go
    on_the_past = False

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.convex import constants_of
        from sifu.certificate.gaussian import largest_ratio
        from sifu.certificate.noise import add_noise

        certificate, constants, model = self.certificate, constants_of(server.scenario), history.current
        delta = delta_of(certificate, history.num_clients)
        solved = model - _step(server, model, model - _descended(server, model, keys).mean)
        distance = _distance(history, constants, solved, _descended(server, solved, keys))  # [S]
        sigma = distance / largest_ratio(certificate.epsilon, delta, "analytic")
        segment = server.recover(add_noise(solved, sigma, keys), keys)
        everyone = (history.available[0] & ~request.remain).sum(1)
        promise = Promise(
            certificate.epsilon, delta, sigma, distance, distance, everyone, everyone=True, blurred=solved.cpu()
        )
        return Unlearned(segment, history.end, promise)


def _descended(server: Server, model: Tensor, keys: Keys) -> Asked:
    """All remaining clients take a full step of gradient descent: their mean is the model less the gradient."""
    step = Sgd(lr=1.0, weight_decay=server.scenario.federation.weight_decay)
    return server.ask_remaining(model, keys, steps=1, optimiser=step)


def _step(server: Server, model: Tensor, gradient: Tensor) -> Tensor:
    """v with H_s v = g. [S, P]"""
    from sifu.certificate.newton import as_matrix, conjugate_gradients, hessian_product, with_ones

    step = model.clone()
    (at,), (slope,), (moved,) = (server.layers(rows) for rows in (model, gradient, step))
    product = hessian_product(with_ones(server.data.images), server.scenario.federation.weight_decay, as_matrix(at))
    found = conjugate_gradients(product, as_matrix(slope))  # [S, K, D + 1]
    moved.weight.copy_(found[..., :-1])  # views of the step
    moved.bias.copy_(found[..., -1])
    return step


def _distance(history: History, constants: Constants, solved: Tensor, asked: Asked) -> Tensor:
    """How far theta' can be from a training as long without the forgotten clients. [S] float64

    Where the budget did not pay for a gradient, the minimiser's largest norm bounds the first part.
    """
    error = (solved - asked.mean).double().norm(dim=1).cpu() / constants.mu
    nobody = (asked.cohort < 0).all(1)
    error = error.where(~nobody, solved.double().norm(dim=1).cpu() + constants.optimum)
    away = (history.start - solved).double().norm(dim=1).cpu()
    return error + (away + error) * constants.step ** history.rounds[0].double() + 2 * constants.rounding
