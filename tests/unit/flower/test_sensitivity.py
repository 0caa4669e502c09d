"""What a round adds to Psi: from products of updates alone, next to the models themselves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.certificate.rules import PRESETS, Rules
from sifu.errors import StoreError
from sifu.flower.past_round import PastRound, distance_of, packed, products_of
from sifu.flower.sensitivity import contracts, increment

P = 5


def made(weights: list[float], seats: int, count: int, seed: int = 0, share: float | None = None, least: int = 1):
    """A round of clients "0", "1", ...; a weight of 0 did not reply."""
    draws = np.random.default_rng(seed)
    before, local = draws.normal(size=P), draws.normal(size=(len(weights), P))
    local[np.array(weights) == 0] = before
    held = np.array(weights) * (np.arange(len(weights)) < seats)
    after = (held / held.sum()) @ local if held.sum() else before
    past = PastRound(
        asked=tuple(str(number) for number in range(len(weights))),
        seats=seats,
        examples=tuple(weights),
        distance=tuple(
            distance_of(after, model) if weight else 0.0 for model, weight in zip(local, weights, strict=True)
        ),
        step=distance_of(after, before),
        products=packed(products_of(before, list(local))),
        total=sum(weight or 3.0 for weight in weights) + 3.0 * (count - len(weights)),
        declared={str(n): 3.0 for n in range(count) if n >= len(weights) or not weights[n]},  # three examples each
        count=count,
        known=count,
        absent=(),
        share=share,
        least=least,
        model="",
    )
    return past, before, local, after


def mean(before: np.ndarray, local: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return weights @ local / weights.sum() if weights.sum() else before


@given(
    weights=st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0]), min_size=3, max_size=6),
    seats=st.integers(1, 4),
    seed=st.integers(0, 9),
    gone=st.sets(st.integers(0, 5), min_size=1, max_size=2),
)
def test_refilled_seats_are_the_average_of_the_next_in_line(
    weights: list[float], seats: int, seed: int, gone: set[int]
) -> None:
    """|| T_S - T_S' || from the models, with everyone asked: no stand-in is missing."""
    seats = min(seats, len(weights))
    gone = {number for number in gone if number < len(weights)}
    past, before, local, after = made(weights, seats, len(weights), seed)
    line = [number for number in range(len(weights)) if number not in gone][:seats]
    there = np.zeros(len(weights))
    there[line] = np.array(weights)[line]
    expected = np.linalg.norm(after - mean(before, local, there))
    found = increment(past, {str(number) for number in gone}, PRESETS["strict"], math.inf)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_the_paper_counts_a_client_by_its_share() -> None:
    """v / (1 - v) ||theta - theta_c|| with v = 2 / (1 + 2 + 7 + 3 x 2): two more clients with 3 examples each."""
    past, _, local, after = made([1.0, 2.0, 7.0], seats=3, count=5)
    share = 2 / (1 + 2 + 7 + 6)
    expected = share / (1 - share) * np.linalg.norm(after - local[1])
    assert increment(past, {"1"}, PRESETS["published"], math.inf) == pytest.approx(expected)
    assert increment(past, {"4"}, PRESETS["published"], math.inf) == 0.0


def test_clients_together_weigh_what_counted_in_the_round() -> None:
    """(0.1 d_0 + 0.2 d_1) / 1.6 / (1 - 0.6 / 1.6): 0.3 of 1.6 examples were sent, client 3 of 0.3 had no seat.

    All weights are below 1, as of a strategy that weights by a share.
    """
    past, _, local, after = made([0.1, 0.2, 0.7], seats=3, count=3)
    past = replace(past, total=1.6, declared={"3": 0.3, "4": 0.3}, count=5, known=5)
    together = Rules("share", "bound", "accumulate", "classical")
    moved = sum(weight * np.linalg.norm(after - local[n]) for n, weight in ((0, 0.1), (1, 0.2)))
    expected = moved / 1.6 / (1 - 0.6 / 1.6)
    assert increment(past, {"0", "1", "3"}, together, math.inf) == pytest.approx(expected)
    small = replace(past, total=0.5, declared={})  # no floor of one example
    share = 0.1 / 0.5
    expected = share / (1 - share) * np.linalg.norm(after - local[0])
    assert increment(small, {"0"}, PRESETS["published"], math.inf) == pytest.approx(expected)


def test_empty_seats_exactly_and_bounded() -> None:
    """Without clients 0 and 1 the average is that of client 2 alone."""
    past, before, local, after = made([1.0, 2.0, 7.0], seats=3, count=3)
    exact = increment(past, {"0", "1"}, Rules("cohort", "exact", "accumulate", "analytic"), math.inf)
    assert exact == pytest.approx(float(np.linalg.norm(after - local[2])))
    bound = increment(past, {"0", "1"}, PRESETS["empty_seats"], math.inf)
    assert bound >= exact
    whole = increment(past, {"0", "1", "2"}, PRESETS["empty_seats"], math.inf)
    assert whole == pytest.approx(float(np.linalg.norm(after - before)))


def test_a_stand_in_that_nobody_trained_is_bounded_or_infinite() -> None:
    """Seats 0 and 1 of 4 clients, no spare: without 0, a client takes the seat that was never asked."""
    past, before, local, after = made([1.0, 2.0], seats=2, count=4)
    assert increment(past, {"0"}, PRESETS["strict"], math.inf) == math.inf
    found = increment(past, {"0"}, PRESETS["strict"], 0.5)
    for weight in (3.0, 6.0):  # of one stranger, or of both
        stranger = before + 0.5 * np.ones(P) / np.sqrt(P)
        other = (2.0 * local[1] + weight * stranger) / (2.0 + weight)
        assert np.linalg.norm(after - other) <= found


def test_seats_that_are_a_share_of_the_clients_shrink_with_them() -> None:
    """Half of 6 clients are 3; half of 5 are 2: without client 5, who did not take part, client 2 has no seat."""
    past, before, local, after = made([1.0, 2.0, 7.0, 1.0], seats=3, count=6, share=0.5)
    there = np.array([1.0, 2.0, 0.0, 0.0])
    expected = np.linalg.norm(after - mean(before, local, there))
    assert increment(past, {"5"}, PRESETS["strict"], math.inf) == pytest.approx(expected)


def test_a_round_in_which_nobody_would_train_does_not_contract() -> None:
    past, *_ = made([1.0, 0.0], seats=2, count=2)
    assert not contracts(past, {"0"}, PRESETS["strict"])
    assert contracts(past, {"1"}, PRESETS["strict"])
    assert contracts(past, {"0"}, PRESETS["published"])


def test_a_round_survives_json() -> None:
    import json

    past, *_ = made([1.0, 2.0, 7.0], seats=2, count=3, share=0.5)
    again = PastRound.of(json.loads(json.dumps(past.plain())))
    assert again == past
    np.testing.assert_array_equal(again.gram, past.gram)
    with pytest.raises(StoreError, match="written by another version"):
        PastRound.of({name: value for name, value in past.plain().items() if name != "declared"})
