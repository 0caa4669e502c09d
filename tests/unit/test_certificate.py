"""Psi against the paper's double sum, sets of clients, and what noise really hides."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sifu.certificate import contraction
from sifu.certificate.audit import audit_models, clopper_pearson
from sifu.certificate.gaussian import delta_at, epsilon_at, largest_ratio
from sifu.certificate.noise import actual_guarantee, needed_sigma, psi_star
from sifu.certificate.rules import PRESETS, Rules, delta_of, rules_of
from sifu.certificate.sensitivity import accumulate, client_increments, set_increments, spread_clients
from sifu.coupled import leave_out, measure_alpha
from sifu.errors import ConfigError
from sifu.history import Segment, Trace
from sifu.keys import Keys
from sifu.scenario import Certificate
from sifu.stages.alpha import single_client_psi
from sifu.stop import Stop
from sifu.types import Status
from tests import reference
from tests.conftest import tiny_clients, tiny_engine

COHORT = torch.tensor([[[0, 2], [1, 2], [0, -1]]])  # one seed, three rounds
DISTANCE = torch.tensor([[[1.0, 2.0], [0.5, 4.0], [3.0, 9.0]]])
SIZE = torch.tensor([[10, 30, 60]])
STEP = torch.tensor([[0.7, 0.8, 0.9]])
NONE = torch.zeros(1, 1)
SEGMENT = Segment(
    start=NONE,
    final=NONE,
    rounds=torch.tensor([3]),
    status=(Status.DONE,),
    available=torch.ones(1, 3, dtype=torch.bool),
    key_state=torch.zeros(1, dtype=torch.int64),
    trace=Trace(COHORT, DISTANCE, DISTANCE, DISTANCE.unsqueeze(-1), STEP),
    snapshots=NONE.unsqueeze(1),
    snapshot_every=10,
)


def close(actual: torch.Tensor, expected: list[object]) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=0)


def test_increments_by_share_by_hand() -> None:
    """p = 0.1, 0.3, 0.6: odds 1/9, 3/7, 3/2; the absent client of round 3 counts nothing."""
    close(client_increments(SEGMENT, SIZE, "share")[0], [[1 / 9, 3.0], [1.5 / 7, 6.0], [1 / 3, 0.0]])


def test_increments_by_cohort_by_hand() -> None:
    """Weights 1/7 and 6/7, 1/3 and 2/3: odds 1/6, 6, 1/2, 2. Alone in round 3, client 0 is the whole step."""
    found = client_increments(SEGMENT, SIZE, "cohort")[0]
    close(found[:2], [[1 / 6, 12.0], [0.25, 8.0]])
    assert float(found[2, 0]) == pytest.approx(0.9)


def test_a_set_together_by_hand() -> None:
    """Clients 0 and 1 leave. By share: (0.1 x 1, 0.3 x 0.5, 0.1 x 3) / 0.6; by cohort client 0 is all of round 3."""
    leavers = torch.tensor([[True, True, False]])
    close(set_increments(SEGMENT, SIZE, leavers, "share")[0], [0.1 / 0.6, 0.15 / 0.6, 0.3 / 0.6])
    by_cohort = set_increments(SEGMENT, SIZE, leavers, "cohort")[0]
    close(by_cohort[:2], [(1 / 7) / (6 / 7), (0.5 / 3) / (2 / 3)])
    assert float(by_cohort[2]) == pytest.approx(0.9)


def test_a_set_of_one_is_the_client() -> None:
    for weight in ("share", "cohort"):
        alone = spread_clients(client_increments(SEGMENT, SIZE, weight), COHORT, 3)
        for client in range(3):
            leavers = torch.arange(3).unsqueeze(0) == client
            torch.testing.assert_close(set_increments(SEGMENT, SIZE, leavers, weight), alone[..., client])


@pytest.mark.parametrize("contraction", [1.0, 0.9, 1.05])
def test_psi_is_the_papers_sum(contraction: float) -> None:
    increments = spread_clients(client_increments(SEGMENT, SIZE, "share"), COHORT, 3)
    psi = accumulate(increments, contraction**2)[0]
    distances = [{0: 1.0, 2: 2.0}, {1: 0.5, 2: 4.0}, {0: 3.0}]
    expected = reference.sensitivity(distances, [0.1, 0.3, 0.6], contraction, 2)
    torch.testing.assert_close(psi, torch.tensor([[0.0] * 3, *expected], dtype=torch.float64))


def test_psi_goes_on_from_where_it_was() -> None:
    increments = torch.tensor([[1.0, 2.0, 4.0]])
    for factor in (1.0, 0.5):
        whole = accumulate(increments, factor)
        rest = accumulate(increments[:, 1:], factor, start=whole[:, 1])
        torch.testing.assert_close(rest, whole[:, 1:])
    assert math.isclose(float(accumulate(increments, 0.5)[0, -1]), 4 + 1 + 0.25)


# --- noise: what it hides, by the textbook and exactly


def by_integration(epsilon: float, ratio: float) -> float:
    """delta = integral of max(0, p - e^eps q) for p = N(ratio, 1), q = N(0, 1), by the trapezium rule."""
    x = torch.linspace(-12.0, 12.0 + ratio, 2_000_001, dtype=torch.float64)
    p, q = (torch.exp(-((x - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (ratio, 0.0))
    return float(torch.trapezoid((p - math.exp(epsilon) * q).clamp(min=0), x))


@pytest.mark.parametrize(
    ("epsilon", "ratio"), [(0.1, 0.05), (1.0, 0.3), (1.0, 2.0), (10.0, 3.2176), (10.0, 6.0), (0.0, 1.0)]
)
def test_exact_delta_against_integration(epsilon: float, ratio: float) -> None:
    exact = float(delta_at(epsilon, torch.tensor([ratio], dtype=torch.float64)))
    assert exact == pytest.approx(by_integration(epsilon, ratio), rel=1e-5, abs=1e-12)


def test_the_papers_certificate_is_not_what_it_says() -> None:
    """eps = 10, delta = 0.01, textbook: sigma / Psi* = 0.3108; the true delta is 0.0406, the true eps 11.92.

    Exactly sigma / Psi* = 0.3501 is needed, 12.7% more noise.
    """
    classical, exact = (largest_ratio(10, 0.01, mechanism) for mechanism in ("classical", "analytic"))
    assert 1 / classical == pytest.approx(0.3108, abs=5e-5)
    assert 1 / exact == pytest.approx(0.3501, abs=5e-5)
    assert classical / exact == pytest.approx(1.127, abs=5e-4)
    ratio = torch.tensor([classical], dtype=torch.float64)
    assert float(delta_at(10.0, ratio)) == pytest.approx(0.0406, abs=5e-5)
    assert float(epsilon_at(0.01, ratio)) == pytest.approx(11.92, abs=5e-3)


EPSILON = st.floats(0.01, 50)
DELTA = st.floats(1e-9, 0.5)


@given(EPSILON, DELTA)
def test_calibration_and_its_inverses_agree(epsilon: float, delta: float) -> None:
    ratio = torch.tensor([largest_ratio(epsilon, delta, "analytic")], dtype=torch.float64)
    assert float(delta_at(epsilon, ratio)) == pytest.approx(delta, rel=1e-6)
    assert float(epsilon_at(delta, ratio)) == pytest.approx(epsilon, rel=1e-6, abs=1e-9)


@given(st.floats(0.01, 1), DELTA)
def test_below_epsilon_one_the_textbook_is_safe(epsilon: float, delta: float) -> None:
    assert largest_ratio(epsilon, delta, "classical") <= largest_ratio(epsilon, delta, "analytic") * (1 + 1e-9)


@given(EPSILON, DELTA, st.floats(0.001, 10))
def test_more_noise_hides_more(epsilon: float, delta: float, sigma: float) -> None:
    certificate = Certificate(epsilon=epsilon, delta=delta, sigma=sigma, preset="strict")
    limit = psi_star(certificate, 100)
    assert limit > 0
    assert psi_star(replace(certificate, sigma=2 * sigma), 100) == pytest.approx(2 * limit)
    needed = needed_sigma(certificate, 100, torch.tensor([limit], dtype=torch.float64))
    assert float(needed) == pytest.approx(sigma)


def test_nothing_to_hide_and_nothing_to_hide_it_with() -> None:
    psi = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
    sigma = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    for claimed in ((10.0, 0.01), (0.0, 0.0)):
        epsilon, delta = actual_guarantee(*claimed, psi, sigma)
        assert epsilon.tolist() == [0.0, 0.0, math.inf]
        assert delta.tolist() == [0.0, 0.0, 1.0]


def test_presets_and_single_switches() -> None:
    assert rules_of(Certificate(sigma=1.0)) == PRESETS["published"]
    changed = rules_of(Certificate(sigma=1.0, preset="strict", sets="exact"))
    assert changed == Rules("cohort", "exact", "accumulate", "analytic")
    assert delta_of(Certificate(sigma=1.0, preset="released"), 50) == 0.02
    assert delta_of(Certificate(sigma=1.0), 50) == 0.01


def test_contraction_of_the_three_kinds_of_losses() -> None:
    """eta = 0.1, beta = 2, mu = 0.5: 1 + 0.2; 1; 1 - 0.1 x 2 x 0.5 / 2.5 = 0.96."""
    assert contraction.smooth(2.0, 0.1) == pytest.approx(1.2)
    assert contraction.convex(2.0, 0.1) == 1.0
    assert contraction.strongly_convex(2.0, 0.5, 0.1) == pytest.approx(0.96)
    for refused in (lambda: contraction.convex(2.0, 1.1), lambda: contraction.strongly_convex(2.0, 0.5, 0.9)):
        with pytest.raises(ConfigError, match="client_lr"):
            refused()


# --- sensitivity against the truth


def quadratics(seed: int, rounds: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Quadratic bed: f_i = a/2 ||x - c_i||^2, K steps of gradient descent; distances, models, centres.

    theta_i = c_i + r (theta - c_i), r = (1 - eta a)^K: FedAvg with equal clients is theta' = cbar + r (theta - cbar).
    """
    centres = torch.randn(6, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    r = (1 - 0.1) ** 5  # eta = 0.1, a = 1, K = 5
    theta, models, distances = torch.zeros(4, dtype=torch.float64), [], []
    for _ in range(rounds):
        local = centres + r * (theta - centres)
        theta = local.mean(0)
        models.append(theta)
        distances.append((theta - local).norm(dim=1))
    return torch.stack(distances), torch.stack(models), centres


@pytest.mark.parametrize("weight", ["share", "cohort"])
def test_on_quadratics_psi_equals_alpha(weight: str) -> None:
    """With B^K = r the bound is an equality, to machine precision; with B = 1 it is a valid, loose bound."""
    rounds, r = 30, (1 - 0.1) ** 5
    distances, models, centres = quadratics(3, rounds)
    everybody = torch.arange(6).expand(1, rounds, 6)
    trace = Trace(
        everybody,
        distances.unsqueeze(0),
        distances.unsqueeze(0),
        distances.view(1, rounds, 6, 1),
        models.norm(dim=1)[None],
    )
    segment = replace(SEGMENT, rounds=torch.tensor([rounds]), available=torch.ones(1, 6, dtype=torch.bool), trace=trace)
    size = torch.full((1, 6), 10)
    increments = spread_clients(client_increments(segment, size, weight), everybody, 6)
    exact, loose = accumulate(increments, r)[0, 1:], accumulate(increments, 1.0)[0, 1:]
    for client in range(6):
        rest = centres[torch.arange(6) != client].mean(0)
        without = torch.stack([rest - r**n * rest for n in range(1, rounds + 1)])
        alpha = (models - without).norm(dim=1)
        torch.testing.assert_close(exact[:, client], alpha, rtol=1e-10, atol=1e-12)
        assert (loose[:, client] >= alpha - 1e-12).all()


@given(st.integers(0, 10**6), st.integers(0, 3))
@hypothesis_settings(max_examples=8)
def test_in_the_convex_case_alpha_is_bounded(seed: int, client: int) -> None:
    """Full participation, full batches, no momentum, eta below 2 / beta: alpha <= Psi with B = 1 is a theorem.

    beta <= ||x||^2 / 2 of the longest image (about 430 here), so eta = 0.002 is safe.
    """
    clients = tiny_clients(seeds=1)
    generator = torch.Generator().manual_seed(seed)
    clients.images.copy_(torch.randn(clients.images.shape, generator=generator))
    engine = tiny_engine(clients=clients, clients_per_round=4, batch_size=8, momentum=0.0, client_lr=0.002)
    keys, everyone = Keys.of([seed]), torch.ones(1, 4, dtype=torch.bool)
    segment = engine.run(engine.model.init(keys), everyone, keys, Stop(None, 0, torch.tensor([12])))
    alpha = measure_alpha(engine, segment, torch.tensor([0]), torch.tensor([client]))[0]
    psi = single_client_psi(segment, clients.size, "cohort", 1.0)[0, :, client]
    assert (alpha <= psi * (1 + 1e-4) + 1e-6).all()
    assert float(alpha[-1]) > 0


def test_a_coupled_run_leaves_out_one_client_and_nothing_else() -> None:
    assert leave_out(torch.tensor([[1, 4, 7], [1, 4, -1], [2, 3, 5]]), torch.tensor([4, 1, 9])).tolist() == [
        [1, 7, -1],
        [4, -1, -1],
        [2, 3, 5],
    ]
    engine = tiny_engine()
    keys = Keys.of(range(2))
    everyone = torch.ones(2, 4, dtype=torch.bool)
    segment = engine.run(engine.model.init(keys), everyone, keys, Stop(None, 0, torch.tensor([6, 4])))
    pairs = torch.tensor([0, 0, 1]), torch.tensor([0, 3, 2])
    alpha = measure_alpha(engine, segment, *pairs)
    for row, (s, c) in enumerate(zip(*(part.tolist() for part in pairs), strict=True)):
        visits = (segment.trace.cohort[s] == c).any(1).nonzero().flatten()
        first = int(visits[0]) if len(visits) else 6
        assert (alpha[row, : first + 1] == 0).all(), "before the client comes nothing differs"
        if first < int(segment.rounds[s]):
            assert float(alpha[row, first + 1]) > 0
    assert (alpha[2, 4:] == alpha[2, 4]).all(), "a seed that has ended stays where it was"


# --- the audit


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (3.0, 0.05)])
def test_the_audit_never_exceeds_a_true_claim_and_catches_a_lie(epsilon: float, delta: float) -> None:
    theta, phi = torch.zeros(3, dtype=torch.float64), torch.tensor([0.6, 0.0, 0.8], dtype=torch.float64)
    sigma = 1 / largest_ratio(epsilon, delta, "analytic")
    key = Keys.of([5]).rows(0)
    honest = audit_models(theta, phi, sigma, delta, 40_000, key)
    halved = audit_models(theta, phi, sigma / 2, delta, 40_000, key)
    assert 0.3 * epsilon < honest <= epsilon
    assert halved > epsilon


def test_the_audit_of_a_trained_pair_stays_below_its_strict_claim() -> None:
    """Gaussian noise looks the same from every side: of the two models only their distance matters to the attack."""
    engine, keys = tiny_engine(clients=tiny_clients(seeds=1)), Keys.of([0])
    everyone = torch.ones(1, 4, dtype=torch.bool)
    segment = engine.run(engine.model.init(keys), everyone, keys, Stop(None, 0, torch.tensor([5])))
    alpha = float(measure_alpha(engine, segment, torch.tensor([0]), torch.tensor([0]))[0, -1])
    psi = float(single_client_psi(segment, engine.clients.size, "cohort", 1.0)[0, -1, 0])
    certificate = Certificate(epsilon=2.0, delta=0.02, sigma=1.0, preset="strict")
    sigma = float(needed_sigma(certificate, 4, torch.tensor([psi], dtype=torch.float64)))
    theta, phi = torch.zeros(2, dtype=torch.float64), torch.tensor([alpha, 0.0], dtype=torch.float64)
    assert audit_models(theta, phi, sigma, 0.02, 20_000, Keys.of([1]).rows(0)) <= 2.0


def test_clopper_pearson_by_hand() -> None:
    """0 of 10: the upper end is 1 - 0.025^(1/10); 10 of 10 mirrors it."""
    end = 1 - 0.025**0.1
    assert clopper_pearson(0, 10) == (0.0, pytest.approx(end))
    assert clopper_pearson(10, 10) == (pytest.approx(1 - end), 1.0)


def test_identical_worlds_prove_nothing() -> None:
    theta = torch.zeros(2, dtype=torch.float64)
    assert audit_models(theta, theta, 1.0, 0.01, 2_000, Keys.of([0]).rows(0)) == 0.0
