"""DP-FedAvg: the aggregation, the sampling, and what the accountant says of them."""

from __future__ import annotations

import math
from dataclasses import replace

import dp_accounting
import pytest
import torch
from dp_accounting import pld, rdp
from hypothesis import given
from hypothesis import strategies as st

from sifu.certificate.accountant import multiplier_for, noise_multiplier, rounds_left, spent_epsilon
from sifu.certificate.gaussian import epsilon_at
from sifu.certificate.private_rounds import noise_ratio, stretches_of
from sifu.certificate.stretch import Stretch
from sifu.config.federation import Federation, Privacy
from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.errors import SifuError
from sifu.federation.aggregation import private_mean, shortened
from sifu.federation.cohort import cohort_places, draw_cohort, poisson_sample
from sifu.federation.stop import Stop
from sifu.methods.dp_fedavg import DpFedAvg
from sifu.plan.variants import build_method
from tests import reference
from tests.conftest import tiny_clients, tiny_engine, tiny_federation

CERTIFICATE = SCENARIO.certificate


def private(clip: float = 0.5, noise: float = 0.1, **changes: object) -> Federation:
    return tiny_federation(privacy=Privacy(update_clip=clip, noise=noise), **changes)


def equal_clients() -> Clients:
    return tiny_clients(sizes=(6, 6, 6, 6))


def test_without_clipping_and_noise_it_is_fedavg() -> None:
    """C as good as infinite, z = 0, clients of one size: three rounds of FedAvg."""
    keys, everyone = Keys.of(range(2)), torch.ones(2, 4, dtype=torch.bool)
    stop = Stop(None, 0, torch.tensor([3, 3]))
    plain = tiny_engine(clients=equal_clients())
    quiet = tiny_engine(clients=equal_clients(), privacy=Privacy(update_clip=1e6, noise=0.0))
    start = plain.model.init(keys)
    finals = [engine.run(start, everyone, keys, stop).final for engine in (plain, quiet)]
    torch.testing.assert_close(*finals, rtol=1e-5, atol=1e-6)


def test_a_private_round_is_that_of_the_plain_loop() -> None:
    engine = tiny_engine(clients=equal_clients(), privacy=Privacy(update_clip=0.05, noise=0.01))
    keys, number = Keys.of(range(2)), torch.tensor([4, 4])
    start = engine.model.init(keys)
    result = engine.round(start, torch.arange(2), number, torch.ones(2, 4, dtype=torch.bool), keys)
    assert ((result.local - start.unsqueeze(1)).norm(dim=-1) > 0.05).any(), "somebody is shortened"
    for seed in range(2):
        noise = 0.01 * keys.rows(seed).fold("privacy", 4).normal(start.shape[1]).float()
        expected = reference.private_average(start[seed], list(result.local[seed]), 0.05, 2, noise)
        torch.testing.assert_close(result.weights[seed], expected, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 10**6), st.floats(1e-4, 10.0))
def test_clipping_never_makes_an_update_longer(seed: int, clip: float) -> None:
    update = torch.randn(5, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    short = shortened(update, clip)
    assert (short.norm(dim=1) <= clip * (1 + 1e-9)).all()
    assert (short.norm(dim=1) <= update.norm(dim=1) * (1 + 1e-9)).all()
    inside = update.norm(dim=1) <= clip
    torch.testing.assert_close(short[inside], update[inside])
    assert torch.equal(shortened(torch.zeros(1, 3), clip), torch.zeros(1, 3))


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_a_client_moves_the_sum_by_at_most_c_over_m(seed: int, client: int) -> None:
    """Before noise; a client that did not come has not moved."""
    generator = torch.Generator().manual_seed(seed)
    federation = private(clip=0.3, clients_per_round=2)
    old = torch.randn(1, 8, generator=generator)
    local = old.unsqueeze(1) + torch.randn(1, 4, 8, generator=generator)
    without = local.clone()
    without[:, client] = old
    nothing = torch.zeros(1, 8)
    difference = private_mean(old, local, nothing, federation) - private_mean(old, without, nothing, federation)
    assert float(difference.norm()) <= 0.3 / 2 * (1 + 1e-4)


@given(st.integers(0, 10**9), st.integers(0, 50))
def test_poisson_cohorts_are_those_of_the_plain_loop(seed: int, number: int) -> None:
    federation = tiny_federation(clients_per_round=3, sampling="poisson")
    available = torch.ones(1, 20, dtype=torch.bool)
    available[0, 4] = False
    cohort = draw_cohort(Keys.of([seed]), torch.tensor([number]), available, federation)
    there = [c for c in cohort[0].tolist() if c >= 0]
    assert there == reference.poisson_clients(Keys.of([seed]).rows(0), number, [c for c in range(20) if c != 4], 3)
    assert cohort.shape[1] == max(1, len(there))
    assert cohort_places(federation, 20) == 20


def test_poisson_cohorts_have_the_right_size_and_independent_members() -> None:
    """2,000 rounds of 50 clients with chance 0.1: mean 5 +- 4 x sqrt(4.5 / 2000), variance 4.5, pairs at 0.01."""
    keys, rounds = Keys.of(range(2000)), torch.zeros(2000, dtype=torch.int64)
    drawn = poisson_sample(keys, rounds, torch.ones(2000, 50, dtype=torch.bool), 5).double()
    sizes = drawn.sum(1)
    assert float(sizes.mean()) == pytest.approx(5, abs=0.19)
    assert float(sizes.var()) == pytest.approx(4.5, rel=0.15)
    assert float((drawn[:, 0] * drawn[:, 1]).mean()) == pytest.approx(0.01, abs=0.009)


# ---- the accountant


@pytest.mark.parametrize(
    ("rounds", "published"),
    [(1, 0.97), (10, 0.98), (100, 1.00), (1000, 1.07), (10**4, 1.18), (10**5, 2.21), (10**6, 7.50)],
)
def test_the_library_gives_the_values_of_mcmahan(rounds: int, published: float) -> None:
    """McMahan et al. 2018, table 1: K = 10^5 users, 100 a round, z = 1, delta = K^-1.1, moments accountant.

    That accountant's conversion is epsilon = min over whole orders of (rdp + ln(1 / delta) / (order - 1)).
    """
    accountant = rdp.RdpAccountant(orders=list(range(2, 65)))
    sample = dp_accounting.PoissonSampledDpEvent(1e-3, dp_accounting.GaussianDpEvent(1.0))
    accountant.compose(dp_accounting.SelfComposedDpEvent(sample, rounds))
    log = 1.1 * math.log(1e5)
    pairs = zip(accountant.orders, accountant.rdp, strict=True)
    assert min(value + log / (order - 1) for order, value in pairs) == pytest.approx(published, abs=0.006)


def poisson(noise: float, expected: int) -> Federation:
    """C = 1: the noise multiplier is noise x m."""
    return private(clip=1.0, noise=noise / expected, clients_per_round=expected, sampling="poisson")


def test_ours_is_below_the_older_bound_of_the_same_rounds() -> None:
    """The same numbers, composed exactly: below McMahan's 1.18 at 10^4 rounds, and not by much more than a third."""
    federation = poisson(1.0, 100)
    assert noise_multiplier(federation) == pytest.approx(1.0)
    spent = spent_epsilon(federation, (Stretch(10**5, 10**4),), 1e5**-1.1)
    assert 0.7 < spent < 1.18


@pytest.mark.parametrize(("rounds", "group"), [(1, 1), (16, 1), (4, 3)])
def test_without_sampling_it_is_the_gaussian_mechanism(rounds: int, group: int) -> None:
    """Everybody in every round: ratio = k sqrt(T) / z, exact epsilon by Balle and Wang."""
    federation = poisson(2.0, 7)
    spent = spent_epsilon(federation, (Stretch(7, rounds),), 0.01, group)
    ratio = torch.tensor([group * math.sqrt(rounds) / 2.0], dtype=torch.float64)
    assert spent == pytest.approx(float(epsilon_at(0.01, ratio)), rel=0.01)
    assert spent >= float(epsilon_at(0.01, ratio)) - 1e-6


def test_a_group_of_many_has_a_finite_epsilon() -> None:
    """30 of 100 clients, 500 rounds: large, and a number; that of the plain bound k epsilon would be 30 x 6 or more."""
    spent = spent_epsilon(poisson(1.28, 10), (Stretch(100, 500),), 0.01, 30)
    assert 200 < spent < 10_000


def test_it_is_what_the_librarys_own_accountant_composes() -> None:
    """Two stretches with other chances, through PLDAccountant's events instead of distributions."""
    accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
    for chance, rounds in ((0.1, 200), (1 / 9, 50)):
        sample = dp_accounting.PoissonSampledDpEvent(chance, dp_accounting.GaussianDpEvent(1.1))
        accountant.compose(dp_accounting.SelfComposedDpEvent(sample, rounds))
    spent = spent_epsilon(poisson(1.1, 10), (Stretch(100, 200), Stretch(90, 50)), 0.01)
    assert spent == pytest.approx(accountant.get_epsilon(0.01), rel=0.005)


def test_tiny_noise_is_not_counted_worse_than_being_everywhere() -> None:
    """z = 0.031: amplification's bound is above that of a client in all 200 cohorts, ratio sqrt(200) / 0.031."""
    federation = private(clip=1.0, noise=0.0062, clients_per_round=10)
    spent = spent_epsilon(federation, (Stretch(100, 200),), 0.01)
    assert spent == pytest.approx(float(epsilon_at(0.01, torch.tensor([math.sqrt(200) / 0.031]))), rel=1e-6)


def test_noise_that_cannot_be_found_is_one_sentence() -> None:
    """sqrt(3000) / 1000 is a ratio that epsilon = 0.001 does not allow at delta = 1e-9."""
    with pytest.raises(SifuError, match="no noise of up to 1000 times C / m makes 3000 rounds"):
        multiplier_for(0.001, 1e-9, 10, 10, 3000)
    assert multiplier_for(1000.0, 0.1, 100, 10, 1) == pytest.approx(0.2, rel=0.01), "no less is looked for"


def test_fixed_cohorts_are_counted_as_replacement() -> None:
    """All 10 of 10 in the one round: sensitivity 2 C, and the Renyi bound is above the exact epsilon, not far."""
    federation = private(clip=1.0, noise=0.1, clients_per_round=10)
    assert noise_multiplier(federation) == pytest.approx(0.5)
    exact = float(epsilon_at(0.01, torch.tensor([2.0])))
    spent = spent_epsilon(federation, (Stretch(10, 1),), 0.01)
    assert exact <= spent < 1.4 * exact
    assert spent_epsilon(federation, (Stretch(10, 1),), 0.01, group=3) > 3 * exact


def test_more_rounds_more_clients_and_less_noise_spend_more() -> None:
    federation, quiet = poisson(1.0, 10), poisson(0.8, 10)
    base = spent_epsilon(federation, (Stretch(100, 50),), 0.01)
    assert base < spent_epsilon(federation, (Stretch(100, 60),), 0.01)
    assert base < spent_epsilon(federation, (Stretch(100, 50), Stretch(90, 10)), 0.01)
    assert base < spent_epsilon(quiet, (Stretch(100, 50),), 0.01)
    assert base < spent_epsilon(federation, (Stretch(100, 50),), 0.01, group=2)
    assert spent_epsilon(federation, (Stretch(100, 0),), 0.01) == 0.0
    assert spent_epsilon(poisson(0.0, 10), (Stretch(100, 5),), 0.01) == math.inf


def test_calibrated_noise_pays_for_exactly_its_rounds() -> None:
    multiplier = multiplier_for(3.0, 0.01, 100, 10, 80)
    federation = poisson(multiplier, 10)
    assert 2.9 < spent_epsilon(federation, (Stretch(100, 80),), 0.01) <= 3.01
    assert rounds_left(federation, (Stretch(100, 30),), 100, 3.02, 0.01, 1000) in (50, 51)
    assert rounds_left(federation, (Stretch(100, 200),), 100, 3.0, 0.01, 1000) == 0


# ---- the method


def test_published_noise_is_that_of_the_released_code() -> None:
    """2 C / M sqrt(2 ln(1.25 M)) / 10 = 2 x 0.5 / 7 x 0.208281 = 0.0297545, in every round: delta is 1 / 7."""
    method = DpFedAvg(clip=0.5, certificate=CERTIFICATE)
    privacy = method.training(SCENARIO).federation.privacy
    assert privacy is not None
    assert privacy.noise == pytest.approx(0.0297545, rel=1e-5)
    assert method.training(SCENARIO).federation.sampling == "fixed"


def test_accounted_training_takes_its_share_of_the_rounds_that_are_paid() -> None:
    method = DpFedAvg(mode="accounted", rounds=40, training_share=0.25, certificate=CERTIFICATE)
    scenario = method.training(SCENARIO)
    assert scenario.stop.max_rounds == 10
    assert scenario.federation.sampling == "poisson"
    multiplier = multiplier_for(10.0, 0.01, 7, 3, 40)
    assert scenario.federation.privacy == Privacy(update_clip=0.5, noise=multiplier * 0.5 / 3)


@pytest.mark.long
def test_an_accounted_lineage_never_spends_more_than_promised() -> None:
    """16 rounds are paid for: 8 of training, then half of those left at each request; q rises as clients leave."""
    method = DpFedAvg(mode="accounted", rounds=16, certificate=CERTIFICATE)
    world = World.make(scenario=method.training(SCENARIO))
    answers = world.answer(method)
    rounds = [int(answer.unlearned.segment.rounds.max()) for answer in answers]
    assert rounds[0] in (3, 4)
    assert rounds[1] in (1, 2)
    assert rounds[2] <= 1
    for answer in answers:
        assert answer.worth is not None
        assert answer.worth.spent is not None
        assert (answer.worth.spent.epsilon <= 10.0).all()
        assert (answer.worth.spent.group_epsilon >= answer.worth.spent.epsilon - 1e-3).all()
    assert answers[-1].num_forgotten.tolist() == [4, 4, 4]
    assert answers[-1].worth is not None
    assert answers[-1].worth.spent is not None
    assert (answers[-1].worth.spent.epsilon > 7.5).all()


def test_the_released_mode_spends_far_more_than_it_claims() -> None:
    method = DpFedAvg(certificate=CERTIFICATE)
    world = World.make(scenario=method.training(SCENARIO))
    (answer, *_) = world.answer(method)
    assert answer.worth is not None
    assert answer.worth.spent is not None
    assert (answer.worth.spent.epsilon > 20.0).all()
    assert (answer.worth.actual[1] > 0.01).any()


def test_the_strict_ratio_counts_the_forgotten_clients_of_every_round() -> None:
    """sqrt(sum of (2 j_n)^2) C / (m sigma), j_n of the clients to forget in round n: each leaves, and another comes."""
    method = DpFedAvg(certificate=CERTIFICATE)
    world = World.make(scenario=method.training(SCENARIO))
    forget = masks(7, 3)[1]
    privacy = world.scenario.federation.privacy
    assert privacy is not None
    lineage = world.lineage
    found = noise_ratio(lineage.segments, lineage.kept, lineage.engine.federation, forget)
    for seed in range(3):
        squares = 0
        for cohort in world.lineage.segments[0].trace.cohort[seed].tolist():
            squares += (2 * sum(c in (0, 3) for c in cohort)) ** 2
        assert float(found[seed]) == pytest.approx(math.sqrt(squares) * 0.5 / 3 / privacy.noise)
    assert stretches_of(lineage.segments, lineage.kept) == [(Stretch(7, 8),)] * 3
    quiet = replace(world.scenario.federation, privacy=Privacy(update_clip=0.5, noise=0.0))
    assert noise_ratio(lineage.segments, lineage.kept, quiet, forget).isinf().all()


def test_a_variant_may_have_its_own_epsilon() -> None:
    method = build_method("dp_fedavg", {"mode": "accounted", "rounds": 50}, replace(CERTIFICATE, epsilon=2.0))
    assert isinstance(method, DpFedAvg)
    louder = method.training(SCENARIO).federation.privacy
    quieter = DpFedAvg(mode="accounted", rounds=50, certificate=CERTIFICATE).training(SCENARIO).federation.privacy
    assert louder is not None
    assert quieter is not None
    assert louder.noise > 2 * quieter.noise
