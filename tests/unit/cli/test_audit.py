"""The table that `python -m sifu audit` prints."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from sifu.certificate.gaussian import delta_at, epsilon_at
from sifu.cli.audit import _print_rows, noised_in_rounds
from sifu.contract.world import SCENARIO
from sifu.plan.variants import build_method
from sifu.report.other_points import at_points
from sifu.report.privacy_points import POINTS


def test_each_promise_stands_with_its_own_delta(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = dict.fromkeys(("strict_epsilon", "measured_epsilon"), None) | {
        "proved_epsilon": 1.0,
        "most_provable": 2.0,
    }
    row = {"request": 1, "clients": 3, "claimed_epsilon": 10.0, "models": 20, "verdict": "cannot tell"} | numbers
    _print_rows(
        [row | {"variant": "a", "covers": 1, "delta": 0.01}, row | {"variant": "b", "covers": 3, "delta": 0.25}]
    )
    first, second = [line for line in capsys.readouterr().out.splitlines() if "cannot tell" in line]
    assert [word in first for word in ("each alone", "0.01")] == [True, True]
    assert [word in second for word in ("3 together", "0.25")] == [True, True]


def test_every_count_stands_at_the_points_of_the_certificates(capsys: pytest.CaptureFixture[str]) -> None:
    """Noise with a ratio of 2: its epsilon at delta = 0.01 is what the row has, the other points follow from it."""
    ratio = torch.tensor([2.0], dtype=torch.float64)
    numbers = {"claimed_epsilon": 0.0, "strict_epsilon": float(epsilon_at(0.01, ratio)), "measured_epsilon": None}
    row = {"variant": "a", "request": 1, "clients": 3, "covers": 1, "delta": 0.01, "models": 20, "verdict": "-"}
    _print_rows([row | numbers | {"proved_epsilon": 1.0, "most_provable": 2.0}])
    printed = capsys.readouterr().out
    assert all(name in printed for name in POINTS)
    claimed, strict = [line for line in printed.splitlines() if line.startswith("│ a") and "20 a world" not in line]
    points = [epsilon_at(0.01, ratio), epsilon_at(1e-5, ratio), delta_at(1.0, ratio), delta_at(10.0, ratio)]
    assert [word.strip() for word in strict.split("│")[4:8]] == [f"{float(value):.3g}" for value in points]
    assert "measured" not in strict
    assert claimed.count("<= ") == 4, "an epsilon of 0 says that the ratio is small, not that it is 0"


def test_of_noise_in_every_round_the_claim_stands_at_its_own_point_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """By an accountant (10, 0.01) is 15.91 at delta = 1e-5; noise that is added once would have 15.7."""
    scenario = replace(SCENARIO, partition=replace(SCENARIO.partition, num_clients=20))
    methods = {name: build_method(name, {}, SCENARIO.certificate) for name in ("dp_fedavg", "sifu", "sharded")}
    assert noised_in_rounds(methods, scenario) == {"dp_fedavg"}
    numbers = {"claimed_epsilon": 10.0, "strict_epsilon": 20.0, "measured_epsilon": None}
    row = {"request": 1, "clients": 3, "covers": 1, "delta": 0.01, "models": 20, "verdict": "-"} | numbers
    rows = [row | {"variant": name, "proved_epsilon": 1.0, "most_provable": 2.0} for name in ("dp_fedavg", "sifu")]
    _print_rows(rows, {"dp_fedavg"})
    lines = [line for line in capsys.readouterr().out.splitlines() if "claimed" in line and "│ 1" in line]
    found = {line.split("│")[1].strip(): [word.strip() for word in line.split("│")[4:8]] for line in lines}
    assert found["dp_fedavg"] == ["10", "-", "-", "0.01"]
    assert found["sifu"][:2] == ["10", "15.7"]


def test_a_promise_at_no_delta_says_nothing_of_others() -> None:
    assert at_points(0.0, 0.0) == at_points(None, 0.01) == ["-"] * 4
    assert at_points(math.inf, 0.01) == ["inf", "inf", "1", "1"]
