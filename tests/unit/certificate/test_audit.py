"""Audits that can fail: by counting, whatever the distribution, and of the noise alone."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sifu.certificate.attack import Sample, choose_attack
from sifu.certificate.audit import most_provable, proved_epsilon, verdict
from sifu.certificate.gaussian import epsilon_at, largest_ratio
from sifu.certificate.noise import add_noise
from sifu.certificate.noise_audit import audit_models, audit_scores
from sifu.core.keys import Keys

KEY = Keys.of([5]).rows(0)


def draws(mu: float, count: int, *words: str) -> Tensor:
    return mu + KEY.fold(*words).normal(count)


# --- counting


@pytest.mark.parametrize(("models", "epsilon"), [(1_000, 5.6), (5_000, 7.2), (85_000, 10.0)])
def test_what_so_many_models_prove_at_most(models: int, epsilon: float) -> None:
    """No alarm of n: at most 1 - 0.025^(1/n), about 3.69 / n; so ln((1 - 3.69 / n - 0.01) n / 3.69)."""
    assert most_provable(models, 0.01) == pytest.approx(epsilon, abs=0.05)
    assert most_provable(models, 0.01) == pytest.approx(math.log((0.99 - 3.69 / models) * models / 3.69), abs=0.01)


def test_verdicts() -> None:
    assert verdict(1.0, 1.1, 4.0) == "refuted"
    assert verdict(1.0, 1.1, 4.0, covered=False) == "exceeded, but not promised"
    assert verdict(1.0, 0.9, 4.0) == "not refuted"
    assert verdict(10.0, 4.0, 4.0) == "cannot tell"
    assert verdict(None, 4.0, 4.0) == "nothing is promised"
    assert proved_epsilon(5, 5, 100, 0.01) == 0.0


def no_loss(models: Tensor) -> Tensor:
    return torch.zeros(len(models))


def first_weight(models: Tensor) -> Tensor:
    return -models[:, 0]


@pytest.mark.parametrize("kind", ["difference", "distance", "loss"])
def test_an_attack_finds_what_differs(kind: str) -> None:
    """Two worlds of 300 weights that differ in their middle, in their spread, or only in what the loss shows."""
    joined, never = (KEY.fold("weights", kind, world).normal(200 * 300).view(200, 300).float() for world in range(2))
    clear, zeros = torch.zeros(200, 300), torch.zeros(200, 300)
    if kind == "difference":
        clear[:, 0] = 8.0
        joined = joined + clear
    elif kind == "distance":
        joined = joined * 2
    else:  # the attacker's own models do not show it
        joined[:, 0] += 8.0
    loss = first_weight if kind == "loss" else no_loss
    attack = choose_attack(Sample(joined, never, clear, zeros), 1.0, loss, 1000, 0.01)
    assert attack.statistic in {"difference": ("difference", "scaled difference", "discriminant")}.get(kind, (kind,))
    hits, alarms = attack.count(joined[100:], never[100:], loss)
    assert hits > 95
    assert alarms < 5


def test_an_attack_on_equal_worlds_proves_nothing() -> None:
    parts = [KEY.fold("equal", number).normal(100 * 50).view(100, 50).float() for number in range(4)]
    zeros = torch.zeros(100, 50)
    attack = choose_attack(Sample(parts[0], parts[1], zeros, zeros), 1.0, no_loss, 100, 0.01)
    hits, alarms = attack.count(parts[2], parts[3], no_loss)
    assert proved_epsilon(hits, alarms, 100, 0.01) < 0.5


# --- the noise alone


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (10.0, 0.01), (3.0, 0.05)])
def test_the_noise_audit_refutes_half_the_noise_and_not_the_right_one(epsilon: float, delta: float) -> None:
    """At epsilon 10 and delta 0.01 the noise allows mu = 2.86; half of it has 5.71, which 1,000 draws a side know to
    about 2.24 (sqrt(2 / 1000) + 5.71 / sqrt(2 * 2000)) = 0.3: the lower end is far above 2.86.
    """
    theta, phi = torch.zeros(3, dtype=torch.float64), torch.tensor([0.6, 0.0, 0.8], dtype=torch.float64)
    sigma = 1 / largest_ratio(epsilon, delta, "analytic")
    honest = audit_models(phi, theta, sigma, 1_000, KEY)
    halved = audit_models(phi, theta, sigma / 2, 1_000, KEY)
    assert honest.verdict(epsilon, delta) == "not refuted"
    assert honest.low < 1 / sigma < honest.high
    assert halved.verdict(epsilon, delta) == "refuted"
    assert halved.epsilon(delta) > epsilon
    assert halved.delta(epsilon) > delta


def test_the_noise_audit_is_one_of_the_noise_that_methods_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the suite's own noise were half of what it is asked for, the audit would say so."""
    halved_noise = lambda model, sigma, keys: add_noise(model, sigma / 2, keys)  # noqa: E731
    monkeypatch.setattr("sifu.certificate.noise_audit.add_noise", halved_noise)
    theta, phi = torch.zeros(3, dtype=torch.float64), torch.tensor([0.6, 0.0, 0.8], dtype=torch.float64)
    halved = audit_models(phi, theta, 1 / largest_ratio(1.0, 0.01, "analytic"), 1_000, KEY)
    assert halved.verdict(1.0, 0.01) == "refuted"


def test_the_interval_of_mu_holds_as_often_as_it_says() -> None:
    """Of 200 audits with 95% confidence fewer than 20 may miss: with a chance of 5% that is 3 deviations away."""
    worlds = KEY.fold("intervals").normal(200 * 200).view(200, 2, 100)
    found = [audit_scores(world[0] + 1.5, world[1]) for world in worlds]
    assert sum(not audit.low <= 1.5 <= audit.high for audit in found) < 20
    assert max(audit.high - audit.low for audit in found) < 1.5


def test_the_noise_audit_says_so_where_its_assumption_fails() -> None:
    """Uniform noise, and Gaussians of different variance: mu would not decide epsilon."""
    uniform = [KEY.fold("uniform", world).uniform(2_000) for world in range(2)]
    assert not audit_scores(uniform[0] + 3, uniform[1]).gaussian
    assert audit_scores(uniform[0] + 3, uniform[1]).verdict(1.0, 0.01) == "cannot tell"
    assert not audit_scores(3 + 2 * draws(0, 2_000, "wide"), draws(0, 2_000, "narrow")).gaussian
    assert audit_scores(draws(1, 2_000, "a"), draws(0, 2_000, "b")).gaussian


def test_no_noise_and_no_difference() -> None:
    theta, phi = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    assert audit_models(phi, theta, 0.0, 100, KEY).epsilon(0.01) == math.inf
    rounded = torch.full((100,), 2**0.5, dtype=torch.float64) + torch.arange(100) % 2 * 2.3e-16
    assert audit_scores(rounded, rounded - 1).epsilon(0.01) == math.inf  # other bits are no noise
    assert audit_models(theta, theta, 1.0, 2_000, KEY).epsilon(0.01) == 0.0
    assert float(epsilon_at(0.01, torch.tensor([0.0]))) == 0.0
