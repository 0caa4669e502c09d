"""When clients accuse: each by its own count under scratch, alone and together, and how much honest models differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from sifu.metrics.deletion_test import accusation, disagreement, predicted_sum, prediction
from sifu.report.deletion_test import CANNOT_TELL, outcome, verdicts, verification


@given(st.integers(1, 60), st.data())
def test_a_prediction_is_the_exact_one(trials: int, data: st.DataObject) -> None:
    """Thatcher's: P(count >= t) is that of Fisher's hypergeometric draw, in which t - 1 or more of the first t + x
    successes of two series are in the new one, when the last of them is.
    """
    own, count = data.draw(st.integers(0, trials - 1)), data.draw(st.integers(1, trials))
    tail = sum(prediction(own, trials)[count:])
    assert tail == pytest.approx(hypergeom.cdf(own, 2 * trials, own + count, trials), abs=1e-9)


def test_honest_servers_are_accused_as_rarely_as_promised() -> None:
    """Two counts of 20 with the same rate, whatever it is: at most 1% of the second accuse, given the first."""
    limits = np.array([accusation(prediction(own, 20), 0.01).threshold for own in range(21)])
    random = np.random.default_rng(0)
    for rate in (0.01, 0.1, 0.5, 0.9):
        first, second = random.binomial(20, rate, (2, 50_000))
        assert (second >= limits[first]).mean() <= 0.01
    assert limits[20] == 21, "where an honest model answers all, no count proves anything"


def test_a_client_that_any_model_answers_needs_more_to_accuse() -> None:
    """0 of 100 under scratch: 10 prove it, as 2^-10 < 0.001; 60 of 100: over 80 are needed."""
    assert accusation(prediction(0, 100), 0.001).threshold in (9, 10)
    assert accusation(prediction(60, 100), 0.001).threshold > 80
    noisy = accusation(prediction(60, 100, factor=4.0), 0.001).threshold
    assert noisy > accusation(prediction(60, 100), 0.001).threshold


@pytest.mark.parametrize(("rate", "factor"), [(0.3, 2.0), (0.3, 5.0), (0.5, 13.5)])
def test_honest_servers_that_differ_more_are_accused_as_rarely_as_promised(rate: float, factor: float) -> None:
    """Counts of 100 whose rates are Beta(a, b) with a + b = (100 - f) / (f - 1): their variance is f times a draw's, so
    that two honest counts differ by 2 f 100 p (1 - p) in the mean square.
    """
    random, total = np.random.default_rng(0), (100 - factor) / (factor - 1)
    first, second = random.binomial(100, random.beta(rate * total, (1 - rate) * total, (2, 100_000)))
    assert disagreement(first, second, 100) == pytest.approx(factor, rel=0.25)  # its expectation is of pooled rates
    limits = np.array([accusation(prediction(count, 100, factor), 0.01).threshold for count in range(101)])
    assert (second >= limits[first]).mean() <= 0.01


def test_how_much_honest_models_differ() -> None:
    """Counts of 100 and 0 differ by 100: 10,000 where 2 * 100 * 0.5 * 0.5 = 50 is expected. Equal ones are 1."""
    assert disagreement(np.array([100]), np.array([0]), 100) == 200
    assert disagreement(np.array([5, 7]), np.array([5, 7]), 100) == 1
    assert disagreement(np.array([0]), np.array([0]), 100) == 1


def test_counts_together_by_hand() -> None:
    """Counts that are 0, 1 or 2 with the same chance, of two clients, are like the sum of two dice with these faces:
    P(4) = 1/9, P(3 or more) = 3/9.
    """
    total = predicted_sum([(1 / 3, 1 / 3, 1 / 3)] * 2)
    assert total * 9 == pytest.approx([1, 2, 3, 2, 1])
    assert accusation(total, 0.34) == (3, pytest.approx(1 / 3))
    assert accusation(total, 0.12) == (4, pytest.approx(1 / 9))
    assert accusation(total, 0.1) == (5, 0.0)


def checks_of(counts: dict[tuple[str, int], list[int]], requests: int = 1) -> pd.DataFrame:
    """Clients' counts of 100 by variant and seed, the same after each request."""
    rows = [
        {"scenario": "s", "variant": variant, "stop": stop, "seed": seed, "request": request, "client": client}
        | {"examples": 100, "successes": count, "alpha": 0.001}
        for (variant, seed), clients in counts.items()
        for request in range(1, requests + 1)
        for client, count in enumerate(clients)
        for stop in ("target", "budget_50")
    ]
    return pd.DataFrame(rows)


def test_a_client_is_compared_with_its_own_count() -> None:
    """Scratch answers the first client 60 times and the second once. Answers of 65 and 2 are no proof, 20 and 20 are
    one for the second client; together 40 are fewer than scratch's 61.
    """
    scratch = {("scratch", seed): [60, 1] for seed in range(2)}
    others = {("close", 0): [65, 2], ("kept", 0): [20, 20], ("kept", 1): [100, 90]}
    found = verdicts(checks_of(scratch | others)).set_index(["variant", "seed"])
    assert found["accuse"].to_dict() == {("close", 0): 0, ("kept", 0): 1, ("kept", 1): 2}
    assert found["together"].to_dict() == {("close", 0): False, ("kept", 0): False, ("kept", 1): True}


def test_scratch_is_compared_with_its_model_of_another_request() -> None:
    """With one request there is none. Models that answer 5 and 6 are alike; with 5 and 60, they differ so much that an
    honest server is not accused, and neither is another that answers 60.
    """
    assert verdicts(checks_of({("scratch", 0): [5, 5], ("gone", 0): [5, 5]}))["variant"].tolist() == ["gone"]
    checks = checks_of({("scratch", 0): [5] * 4, ("kept", 0): [60] * 4}, requests=2)
    found = verdicts(checks)
    assert found.groupby("variant")["accuse"].sum().to_dict() == {"kept": 8, "scratch": 0}
    later = (checks["variant"] == "scratch") & (checks["request"] == 2)
    wild = verdicts(checks.assign(successes=checks["successes"].mask(later, 60)))
    assert wild.groupby("variant")["accuse"].sum().to_dict() == {"kept": 0, "scratch": 0}


def test_the_table_is_in_the_order_of_the_labels() -> None:
    """The original is accused in both seeds, so that silence means something."""
    counts = {(name, seed): [1, 2, 1] for name in ("scratch", "gone") for seed in range(2)}
    kept = {(name, seed): [80, 90, 2] for name in ("kept", "original") for seed in range(2)}
    labels = {"gone": "Gone", "kept": "Kept", "original": "Original"}
    table = verification(checks_of(counts | kept), labels)
    assert table["method"].tolist() == ["Gone", "Kept", "Original"]
    assert table["trigger success"].tolist() == ["0.013", "0.573", "0.573"]
    assert table["clients that accuse"].tolist() == ["0.0%", "66.7%", "66.7%"]
    assert table["accused together"].tolist() == ["0 of 2 [0%, 84%]", "2 of 2 [16%, 100%]", "2 of 2 [16%, 100%]"]
    assert table["power"].tolist() == ["67%"] * 3
    assert table["power, together"].tolist() == ["100%"] * 3
    assert table["verdict"].tolist() == ["unnoticed", "noticed", "noticed"]
    assert (table["type I"].astype(float) <= 0.001).all()


def test_a_test_that_notices_nothing_cannot_tell() -> None:
    """The original answers as scratch does: 0 of 2 accuse it, so that nothing follows from the others' silence."""
    counts = {(name, seed): [1, 2, 1] for name in ("scratch", "gone", "original") for seed in range(2)}
    table = verification(checks_of(counts), {"gone": "Gone", "original": "Original"})
    assert table["verdict"].tolist() == [CANNOT_TELL] * 2
    assert outcome(0.0, float("nan")) == "unnoticed (power unknown)"
    assert outcome(0.6, 0.1) == "noticed"
