"""ConDa: which weights are damped, as intended and as released, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from sifu.contract.world import World, masks
from sifu.methods.conda import Conda
from sifu.unlearning.past_round import PastRound, train_again
from tests.quadratic_clients import (
    CENTRES,
    CLIENTS,
    FEATURES,
    GONE,
    REMAIN,
    distance,
    forgotten_by,
    lineage_of,
    local,
    quadratic_lineage,
    trained,
)

BOTH = pytest.mark.parametrize("as_released", [False, True])


def plain(rounds: int, method: Conda) -> np.ndarray:
    """C_i = sum_n |theta_i^n - origin| for each client, then weight by weight."""
    moved = np.zeros((CLIENTS, FEATURES))
    for n in range(rounds):
        origin = trained(0) if method.origin == "initial" else trained(n)
        for client in range(CLIENTS):
            moved[client] += np.abs(local(trained(n), client) - origin)
    theta, remaining = trained(rounds), moved[REMAIN].mean(0)
    for j in range(FEATURES):
        pair = moved[GONE][j], remaining[j]
        ratio = pair[0] / pair[1] if method.as_released else pair[1] / pair[0]
        if ratio < method.cutoff:
            theta[j] *= min(method.factor * ratio, method.bound)
    return theta


@BOTH
@pytest.mark.parametrize("origin", ["initial", "round"])
@pytest.mark.parametrize(
    "cutoff", [pytest.param(0.5, marks=pytest.mark.long), 0.9, pytest.param(3.0, marks=pytest.mark.long)]
)
def test_it_is_the_plain_loop(origin: str, cutoff: float, as_released: bool) -> None:
    method = Conda(origin=origin, cutoff=cutoff, as_released=as_released, factor=0.8)
    model, server = forgotten_by(method, quadratic_lineage(8))
    np.testing.assert_allclose(model.numpy(), plain(8, method), rtol=1e-9, atol=1e-12)
    assert server.spent.client_steps.tolist() == [0]


@pytest.mark.second
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Conda(), 0.390238),
        pytest.param(Conda(origin="round"), 0.582816, marks=pytest.mark.long),
        pytest.param(Conda(as_released=True), 0.600688, marks=pytest.mark.long),
    ],
    ids=["intended", "round", "released"],
)
def test_how_far_it_is_from_retraining(method: Conda, expected: float) -> None:
    """After 30 rounds, where the original is off by 0.458357; the numbers are those of the plain loop."""
    model, _ = forgotten_by(method, quadratic_lineage(30))
    assert distance(model, 30) == pytest.approx(expected, abs=1e-6)
    assert float(np.linalg.norm(plain(30, method) - trained(30, REMAIN))) == pytest.approx(expected, abs=1e-6)


def test_released_is_the_opposite_of_intended() -> None:
    """Client 3 moves coordinate 0 alone, and five times as far as the others: one round from theta^0 = 0.

    Intended: q = 1/5 there, so that the weight is multiplied by 0.5 / 5. Released: that one stays, the others go.
    """
    centres = np.ones((CLIENTS, FEATURES))
    centres[GONE] = [5.0, 0.0, 0.0, 0.0]
    history = lineage_of(1, centres)
    theta = history.current[0]
    intended, released = (forgotten_by(Conda(as_released=flag), history)[0] for flag in (False, True))
    torch.testing.assert_close(intended, theta * torch.tensor([0.1, 1, 1, 1], dtype=torch.float64))
    torch.testing.assert_close(released, theta * torch.tensor([1, 0, 0, 0], dtype=torch.float64), rtol=0, atol=1e-12)
    assert not Conda().as_released


@pytest.mark.parametrize(("bound", "kept"), [(0.5, 0.5), (0.3, 0.3), (1.0, 0.8)])
def test_a_damped_weight_keeps_the_bound_at_most(bound: float, kept: float) -> None:
    """As above with lambda = 4: lambda q = 4/5 in coordinate 0, unless the bound is less."""
    centres = np.ones((CLIENTS, FEATURES))
    centres[GONE] = [5.0, 0.0, 0.0, 0.0]
    history = lineage_of(1, centres)
    model, _ = forgotten_by(Conda(factor=4.0, bound=bound), history)
    torch.testing.assert_close(model, history.current[0] * torch.tensor([kept, 1, 1, 1], dtype=torch.float64))


@BOTH
def test_nothing_is_damped_above_the_cutoff_or_where_nobody_moved(as_released: bool) -> None:
    """Coordinate 1 is zero for all: 0 / 0."""
    centres = CENTRES.copy()
    centres[:, 1] = 0
    history = lineage_of(6, centres)
    model, _ = forgotten_by(Conda(as_released=as_released, cutoff=1e-9), history)
    assert torch.equal(model, history.current[0])


def test_from_the_rounds_model_the_ratio_is_that_of_where_clients_pull() -> None:
    """Once theta has converged, in coordinate j: the mean over R of |c_i - mean(c)| over |c_3 - mean(c)|.

    A client goes the share 1 - r of its way in every round, which cancels.
    """
    spread = np.abs(CENTRES - CENTRES.mean(0))
    damped = spread[REMAIN].mean(0) / spread[GONE] < 0.5
    model, _ = forgotten_by(Conda(origin="round"), quadratic_lineage(30))
    changed = ~np.isclose(model.numpy(), trained(30), rtol=1e-6)
    assert changed.tolist() == damped.tolist()
    assert changed.any()


@pytest.mark.parametrize("origin", ["initial", "round"])
def test_several_clients_of_a_round_count_by_their_mean(origin: str) -> None:
    """Seven clients, cohorts of three, 0 and 3 are forgotten: rounds with both of them have the mean of both, twice."""
    world, forget = World.make(), masks(7, 3)[1]
    engine, segment = world.lineage.engine, world.lineage.segments[0]
    method = Conda(origin=origin, cutoff=1.0)
    (answer,) = world.answer(method, [forget], rounds=0)
    zero = torch.zeros_like(segment.start[0], dtype=torch.float64)
    remaining, forgotten = ([zero.clone() for _ in range(3)] for _ in range(2))
    for n in range(8):
        before = engine.replay(segment, torch.full((3,), n))
        sent = train_again(engine, before, PastRound.of(segment, 0, n, segment.rounds)).local
        for s in range(3):
            base = segment.start[s] if origin == "initial" else before[s]
            gone: list[tuple[int, Tensor]] = []
            for place, client in enumerate(segment.trace.cohort[s, n].tolist()):
                if forget[s, client]:
                    gone.append((int(engine.clients.size[s, client]), sent[s, place]))
                else:
                    remaining[s] += (sent[s, place] - base).abs()
            if gone:
                total = sum(size for size, _ in gone)
                mean = sum((size / total * weights for size, weights in gone), torch.zeros_like(base))
                forgotten[s] += len(gone) * (mean - base).abs()
    for s in range(3):
        ratio = (remaining[s] / 5) / (forgotten[s] / 2)
        damped = torch.where(ratio < 1, (0.5 * ratio).clamp(max=0.5), 1.0)
        sure = (ratio - 1).abs() > 1e-2  # not so close to the cutoff that rounding decides
        expected = world.lineage.current[s] * damped.float()
        torch.testing.assert_close(answer.unlearned.weights[s][sure], expected[sure], rtol=1e-2, atol=1e-5)
