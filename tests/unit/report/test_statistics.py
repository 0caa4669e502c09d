"""Intervals over many seeds: in parts, so that they fit into memory, and the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sifu.report import statistics
from sifu.report.statistics import bootstrap_intervals
from tests.memory import bounded_memory


def test_resamples_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = list(np.random.default_rng(1).normal(size=(70, 50)))  # more than are taken at once
    whole = statistics.bootstrap_intervals(samples)
    monkeypatch.setattr(statistics, "_DRAWS", 7000)  # 140 resamples of 50 seeds
    np.testing.assert_allclose(statistics.bootstrap_intervals(samples), whole, rtol=1e-12)


@pytest.mark.second
def test_ten_thousand_seeds_fit_into_memory() -> None:
    """The draws alone are 800 MB, and a share of every seed in every resample as much again."""
    sample = np.random.default_rng(1).normal(size=10_000)
    with bounded_memory(400):
        ((low, high),) = statistics.bootstrap_intervals([sample])
    error = sample.std(ddof=1) / 100
    assert [low, high] == pytest.approx([sample.mean() - 1.96 * error, sample.mean() + 1.96 * error], abs=0.05 * error)


def test_bootstrap_interval() -> None:
    """Of 400 standard normal draws: about mean +- 1.96 / 20."""
    values = np.random.default_rng(1).normal(size=400)
    ((low, high),) = bootstrap_intervals([values])
    assert low == pytest.approx(values.mean() - 0.098, abs=0.015)
    assert high == pytest.approx(values.mean() + 0.098, abs=0.015)
    assert bootstrap_intervals([np.array([0.3]), values]) == [(0.3, 0.3), (low, high)]


def test_an_infinite_number_has_no_deviation() -> None:
    """As the actual epsilon of a method without noise in one seed of two; a warning would be an error here."""
    key = {
        "scenario": "a",
        "variant": "last",
        "stop": "target",
        "request": 1,
        "quantity": "actual_epsilon",
        "subset": "",
    }
    numbers = pd.DataFrame([key | {"seed": seed, "value": value} for seed, value in enumerate((9.0, np.inf))])
    (row,) = statistics.over_seeds(numbers).to_dict("records")
    assert (row["mean"], row["high"], row["interval"]) == (np.inf, np.inf, "range")
    assert np.isnan(row["std"])
