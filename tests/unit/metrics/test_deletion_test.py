"""When clients that differ accuse: the distribution of honest counts, and which counts a seed is compared with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom

from sifu.metrics.deletion_test import HonestCounts, accusation, rate_limit, threshold
from sifu.report.deletion_test import verdicts, verification


def test_clients_that_are_alike_give_the_binomial_test() -> None:
    """Four clients with 2 of 10 do not differ: 8 of 40 answers."""
    honest = HonestCounts.of(np.array([2, 2, 2, 2]), 10)
    assert honest == HonestCounts(rate_limit(8, 40), 0.0)
    assert accusation(honest, 10, 1, 0.001).threshold == threshold(10, honest.rate, 0.001)
    assert accusation(honest, 10, 4, 0.001).threshold == threshold(40, honest.rate, 0.001)


def test_the_spread_is_that_of_the_moments() -> None:
    """0, 0, 2 and 6 of 10: mean 2, variance 8, where clients that are alike have 10 * 0.2 * 0.8 = 1.6. The factor is
    5 = 1 + 9 spread, so that the spread is 4 / 9; 40 answers count as 8, of which 1.6 are successes.
    """
    honest = HonestCounts.of(np.array([0, 0, 2, 6]), 10)
    assert honest.spread == pytest.approx(4 / 9)
    assert honest.rate == pytest.approx(rate_limit(1.6, 8))


@pytest.mark.parametrize("counts", [[0, 0, 0], [10, 10], [0, 10], [1], [10]])
def test_few_and_extreme_counts_are_handled(counts: list[int]) -> None:
    """Where every honest count is 10 of 10, no count proves anything."""
    honest = HonestCounts.of(np.array(counts), 10)
    rule = accusation(honest, 10, 1, 0.001)
    assert 0 <= rule.type_1 <= 0.001
    assert rule.threshold == 11 if 10 in counts else 1 <= rule.threshold <= 10
    assert accusation(HonestCounts.of(np.array([0, 1]), 1), 1, 1, 0.001).threshold == 2


def test_counts_together_by_hand() -> None:
    """Rate 1/2 and spread 1/3 are a uniform rate, whose counts of 2 are uniform, too. Two clients are like the sum of
    two dice with the faces 0, 1 and 2: P(4) = 1/9, P(3 or more) = 3/9.
    """
    honest = HonestCounts(0.5, 1 / 3)
    assert honest.chances(2, 2) * 9 == pytest.approx([1, 2, 3, 2, 1])
    assert accusation(honest, 2, 2, 0.34) == (3, pytest.approx(1 / 3))
    assert accusation(honest, 2, 2, 0.12) == (4, pytest.approx(1 / 9))
    assert accusation(honest, 2, 2, 0.1) == (5, 0.0)


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.floats(0.01, 0.9), st.floats(1e-4, 0.2))
def test_the_smallest_count_that_keeps_alpha(trials: int, rate: float, spread: float, alpha: float) -> None:
    rule = accusation(HonestCounts(rate, spread), trials, 1, alpha)
    a, b = rate * (1 / spread - 1), (1 - rate) * (1 / spread - 1)
    assert rule.type_1 == pytest.approx(betabinom.sf(rule.threshold - 1, trials, a, b), abs=1e-9)
    assert rule.type_1 <= alpha
    assert betabinom.sf(rule.threshold - 2, trials, a, b) > alpha - 1e-9


def honest_counts(clients: int, seed: int) -> np.ndarray:
    """Counts of models that never saw the clients; rates ~ Beta(0.5, 20): 2.4% on average, 0 for many."""
    random = np.random.default_rng(seed)
    return random.binomial(100, random.beta(0.5, 20.0, clients))


def test_an_honest_server_is_accused_as_rarely_as_promised() -> None:
    """Fitted to 200 clients and tried on 20,000: at most 0.1% of them accuse. The test for clients that are alike, at
    the same alpha, has about 5%.
    """
    seen, others = honest_counts(200, 0), honest_counts(20_000, 1)
    assert (others >= accusation(HonestCounts.of(seen, 100), 100, 1, 0.001).threshold).mean() <= 0.001
    equal = threshold(100, rate_limit(int(seen.sum()), 100 * len(seen)), 0.001)
    assert (others >= equal).mean() > 0.03


def checks_of(counts: dict[tuple[str, int], list[int]]) -> pd.DataFrame:
    """Clients' counts of 100 by variant and seed, after one request."""
    rows = [
        {"scenario": "s", "variant": variant, "stop": stop, "seed": seed, "request": 1, "client": client}
        | {"examples": 100, "successes": count, "alpha": 0.001}
        for (variant, seed), clients in counts.items()
        for client, count in enumerate(clients)
        for stop in ("target", "budget_50")
    ]
    return pd.DataFrame(rows)


def test_a_seed_is_compared_with_other_seeds() -> None:
    """Scratch answers 60 times in seed 1, and once or twice in other seeds. Both clients of seed 1 accuse it; clients
    of other seeds do not, as their threshold takes the 60 into account.
    """
    quiet = {("scratch", seed): [1, 2] for seed in (0, 2, 3)}
    table = verdicts(checks_of(quiet | {("scratch", 1): [60, 60]})).set_index("seed")
    assert table["accuse"].to_dict() == {0: 0, 1: 2, 2: 0, 3: 0}
    assert table["together"].to_dict() == {0: False, 1: True, 2: False, 3: False}


def test_a_single_seed_is_compared_with_itself() -> None:
    table = verdicts(checks_of({("scratch", 0): [1, 2, 0], ("kept", 0): [80, 90, 2]})).set_index("variant")
    assert table["accuse"].to_dict() == {"kept": 2, "scratch": 0}


def test_the_table_is_in_the_order_of_the_labels() -> None:
    counts = {(name, seed): [1, 2, 1] for name in ("scratch", "gone") for seed in range(2)}
    kept = {("kept", seed): [80, 90, 2] for seed in range(2)}
    table = verification(checks_of(counts | kept), {"scratch": "Scratch", "kept": "Kept"})
    assert table["method"].tolist() == ["Scratch", "Kept"]
    assert table["trigger success"].tolist() == ["0.013", "0.573"]
    assert table["clients that accuse"].tolist() == ["0.0%", "66.7%"]
    assert table["accused together"].tolist() == ["0 of 2", "2 of 2"]
    assert (table["type I"].astype(float) <= 0.001).all()
