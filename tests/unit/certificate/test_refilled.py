"""Refilled seats: the run that retraining makes, Psi for it, and alpha measured against it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch import Tensor

from sifu.certificate.alpha import measure_alpha
from sifu.certificate.refilled import cohorts_without, longest_update, refilled_increments, single_sets
from sifu.certificate.sensitivity import accumulate, set_increments
from sifu.config.optimiser import Adaptive
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from tests import reference
from tests.conftest import tiny_clients, tiny_engine, tiny_federation

CLIENTS = 9
ROUNDING = 1e-4  # float32 sums; a first difference has alpha = Psi


def trained(seeds: int = 1, rounds: int = 8, seed: int = 0, **changes: object) -> tuple[Engine, Segment]:
    """Nine clients of different sizes, three of them a round."""
    clients = tiny_clients(seeds=seeds, sizes=(8, 5, 3, 8, 6, 7, 4, 8, 5))
    generator = torch.Generator().manual_seed(seed)
    clients.images.copy_(torch.randn(clients.images.shape, generator=generator))
    engine = tiny_engine(clients=clients, **({"clients_per_round": 3} | changes))
    keys, everyone = Keys.of(range(seed, seed + seeds)), torch.ones(seeds, CLIENTS, dtype=torch.bool)
    stop = Stop(None, 0, torch.arange(rounds, rounds - seeds, -1))
    return engine, engine.run(engine.model.init(keys), everyone, keys, stop, snapshot_every=3)


def mask(*clients: int, seeds: int = 1) -> Tensor:
    found = torch.zeros(seeds, CLIENTS, dtype=torch.bool)
    found[:, list(clients)] = True
    return found


def test_the_next_in_line_takes_the_seat() -> None:
    """Compared with a sort by hand; who was not forgotten keeps the seat."""
    engine, segment = trained(seeds=2)
    gone = mask(0, 4, 5, seeds=2)
    others = cohorts_without(segment, gone, engine.federation)
    for s in range(2):
        key = Keys(segment.key_state).rows(s)
        remain = [c for c in range(CLIENTS) if not bool(gone[s, c])]
        for n in range(int(segment.rounds[s])):
            assert others[s, n].tolist() == reference.sample_clients(key, n, remain, 3)
            stayed = set(segment.trace.cohort[s, n].tolist()) - {0, 4, 5}
            assert stayed <= set(others[s, n].tolist())


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_increments_are_those_of_a_round_that_is_trained_again(sampling: str) -> None:
    """Delta from the updates of cohort and stand-ins equals the distance to a whole round without the clients.

    Poisson cohorts of two seeds have different sizes: then empty places come before the stand-ins.
    """
    engine, segment = trained(seeds=2, sampling=sampling)
    sets = [mask(1, seeds=2), mask(0, 2, 3, seeds=2), mask(*range(8), seeds=2)]
    found = refilled_increments(engine, segment, sets)  # [S, T, sets]
    for number, rows, before, result in engine.walk(segment):
        keys = Keys(segment.key_state[rows])
        for place, gone in enumerate(sets):
            without = engine.round(before, rows, torch.full_like(rows, number), ~gone[rows], keys).weights
            expected = (result.weights - without).double().norm(dim=1)
            torch.testing.assert_close(found[rows, number, place], expected, rtol=1e-4, atol=1e-6)
    assert float(found[:, :, 1].max()) > 0
    assert (found[1, 7:] == 0).all(), "a round that the seed does not have"


def test_a_walk_ends_where_it_is_told_to() -> None:
    engine, segment = trained(seeds=2)
    whole = refilled_increments(engine, segment, [mask(0, 1, seeds=2)])
    some = refilled_increments(engine, segment, [mask(0, 1, seeds=2)], until=torch.tensor([5, 0]))
    assert torch.equal(some[0, :5], whole[0, :5])
    assert (some[0, 5:] == 0).all()
    assert (some[1] == 0).all()


@given(st.integers(0, 10**6), st.sets(st.integers(0, CLIENTS - 1), min_size=1, max_size=CLIENTS - 1))
@hypothesis_settings(max_examples=12)
def test_in_the_convex_case_alpha_is_bounded_for_every_set(seed: int, gone: set[int]) -> None:
    """Full batches, no momentum, eta below 2 / beta: alpha <= Psi with B = 1 is a theorem, for sampled cohorts, too.

    beta <= ||x||^2 / 2 of the longest image (about 430 here), so eta = 0.002 is safe.
    """
    engine, segment = trained(seed=seed, rounds=10, batch_size=8, momentum=0.0, client_lr=0.002)
    alpha = measure_alpha(engine, segment, torch.tensor([0]), mask(*gone))[0]
    psi = accumulate(refilled_increments(engine, segment, [mask(*gone)]), 1.0)[0, :, 0]
    assert (alpha <= psi * (1 + ROUNDING) + 1e-6).all()


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_alpha_of_a_seed_that_ended_before_another(sampling: str) -> None:
    """Seed 1 has one round less than seed 0: alone it is measured as with seed 0, and stays where it ended."""
    engine, segment = trained(seeds=2, sampling=sampling)
    both = measure_alpha(engine, segment, torch.tensor([0, 1]), mask(0, 1, seeds=2))
    alone = measure_alpha(engine, segment, torch.tensor([1]), mask(0, 1))
    torch.testing.assert_close(alone[0], both[1])
    assert alone[0, -1] == alone[0, -2]


def test_alpha_without_anybody_is_zero_with_another_optimiser_too() -> None:
    """Nobody is left out, so that both runs are the same: the second one has the segment's own optimiser."""
    engine, plain = trained(rounds=4)
    stop = Stop(None, 0, plain.rounds)
    segment = engine.run(plain.start, plain.available, Keys(plain.key_state), stop, optimiser=Adaptive(lr=0.01))
    assert not measure_alpha(engine, segment, torch.tensor([0]), mask()).any()


def test_with_empty_seats_the_same_bound_fails() -> None:
    """The run with empty seats is nobody's: in early rounds its Psi is below the distance to a retraining."""
    failed = 0
    for seed in range(4):
        engine, segment = trained(seed=seed, rounds=10, batch_size=8, momentum=0.0, client_lr=0.002)
        for gone in (mask(0), mask(1, 5), mask(2, 3, 4, 6)):
            alpha = measure_alpha(engine, segment, torch.tensor([0]), gone)[0]
            empty = accumulate(set_increments(segment, engine.clients.size, gone, "cohort"), 1.0)[0]
            failed += bool((alpha > empty * (1 + ROUNDING) + 1e-6).any())
    assert failed >= 8, "of 12"


@pytest.mark.parametrize("decay", [0.0, 100.0])
def test_a_round_in_which_a_whole_cohort_leaves_is_bounded(decay: float) -> None:
    """The whole step of such a round counts; with B < 1 it contracts like any other, as others train in its place.

    A step of eta = 0.002 on a loss with the penalty lambda / 2 ||theta||^2 contracts by B = 1 - eta lambda (0.8 with
    lambda = 100), as long as eta (beta + lambda) <= 1; three steps of full batches by B^3.
    """
    steps = {"batch_size": 8, "momentum": 0.0, "client_lr": 0.002, "weight_decay": decay}
    engine, segment = trained(rounds=6, **steps)
    factor = (1 - 0.002 * decay) ** engine.federation.local_steps
    for number in range(6):
        gone = mask(*segment.trace.cohort[0, number].tolist())
        increments = refilled_increments(engine, segment, [gone])
        assert float(increments[0, number, 0]) > 0
        alpha = measure_alpha(engine, segment, torch.tensor([0]), gone)[0]
        psi = accumulate(increments, factor)[0, :, 0]
        assert (alpha <= psi * (1 + ROUNDING) + 1e-6).all()
    empty = accumulate(set_increments(segment, engine.clients.size, gone, "cohort"), factor)[0]
    assert bool((alpha > empty * (1 + ROUNDING) + 1e-6).any()), "with the seats left empty Psi is no bound"


def test_with_full_participation_no_seat_is_refilled() -> None:
    """Then the two counts are the same: v / (1 - v) ||theta - theta_c||."""
    engine, segment = trained(rounds=4, clients_per_round=CLIENTS)
    found = refilled_increments(engine, segment, [mask(3)])[..., 0]
    expected = set_increments(segment, engine.clients.size, mask(3), "cohort")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-7)


def test_one_spare_is_enough_for_single_clients_and_not_for_sets() -> None:
    engine, segment = trained(rounds=6)
    alone = single_sets(torch.ones(1, CLIENTS, dtype=torch.bool))
    assert len(alone) == CLIENTS
    needed = refilled_increments(engine, segment, alone)
    assert torch.equal(refilled_increments(engine, segment, alone, spares=1), needed)
    assert bool(refilled_increments(engine, segment, alone, spares=0).isinf().any()), "nobody was trained instead"
    together = mask(0, 1, 2, 3, 4)
    assert bool(refilled_increments(engine, segment, [together], spares=1).isinf().any())
    whole = refilled_increments(engine, segment, [together], spares=CLIENTS)
    torch.testing.assert_close(whole, refilled_increments(engine, segment, [together]))


def test_clipping_bounds_what_a_missing_spare_would_have_done() -> None:
    engine, segment = trained(rounds=6, clip=0.5)
    together = [mask(0, 1, 2, 3, 4)]
    bound = refilled_increments(engine, segment, together, spares=0)
    exact = refilled_increments(engine, segment, together)
    assert bool(bound.isfinite().all())
    assert (bound >= exact - 1e-9).all()
    assert float(segment.trace.update_norm.max()) <= longest_update(engine.federation)


def test_the_longest_update_by_hand() -> None:
    """eta = 0.1, clip 2, K = 3, momentum 0.5: 0.2 (1 + 1.5 + 1.75) = 0.85; without clipping nothing is known."""
    known = tiny_federation(client_lr=0.1, clip=2.0, local_steps=3, momentum=0.5)
    assert longest_update(known) == pytest.approx(0.85)
    assert longest_update(tiny_federation()) == math.inf
    assert longest_update(tiny_federation(clip=1.0, weight_decay=0.1)) == math.inf


def test_a_run_without_clients_shares_all_draws_until_they_are_sampled() -> None:
    engine, segment = trained(seeds=2, rounds=6)
    pairs = torch.tensor([0, 0, 1]), torch.cat([mask(0), mask(3), mask(2)])
    alpha = measure_alpha(engine, segment, *pairs)
    for row, (s, gone) in enumerate(zip(pairs[0].tolist(), pairs[1], strict=True)):
        client = int(gone.nonzero())
        visits = (segment.trace.cohort[s] == client).any(1).nonzero().flatten()
        first = int(visits[0]) if len(visits) else 6
        assert (alpha[row, : first + 1] == 0).all(), "nothing differs before the client is sampled"
        if first < int(segment.rounds[s]):
            assert float(alpha[row, first + 1]) > 0
    assert (alpha[2, 5:] == alpha[2, 5]).all(), "a finished seed does not change"
