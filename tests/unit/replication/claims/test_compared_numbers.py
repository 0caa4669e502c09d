"""Numbers that are shown with a claim and not judged: each in a world where it is known by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sifu.replication.claims.claim import Line
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim, measured, verdict
from tests.outcomes import Outcome
from tests.small_replication import World


def shown(name: str, what: str, world: World, scenario: str = "mnist") -> float:
    """The mean of the one line that begins so."""
    lines = claim(name).measure(world.tables())
    (found,) = [line for line in lines if line.scenario == scenario and line.what.startswith(what)]
    assert found.value is not None
    assert found.verdict is None
    return found.value.mean


def test_trade_offs_of_dp_and_of_doing_nothing() -> None:
    """DP 0.3 + 0.3 minus SIFU's 0.1 + 0.1; the original model 0.4 + 0.4."""
    world = World(("mnist",), {("mnist", "dp_released"): Outcome(gap=0.3), ("mnist", "original"): Outcome(gap=0.4)})
    first = claim("SIFU's trade-off is still the best with DP").measure(world.tables())[0]
    assert first.value is not None
    assert (first.note, first.value.mean) == ("DP-FedAvg, as released", pytest.approx(0.4))
    assert shown("SIFU has", "gaps of the original model", world) == pytest.approx(0.8)


def test_how_often_last_diverges_where_scratch_got_there() -> None:
    world = World(changes={("cifar10", "last_released"): Outcome(30, status="diverged")})
    for name in ("Last does well", "Last never"):
        assert shown(name, "requests after which Last, as released, diverges", world, "cifar10") == 1
        assert shown(name, "requests after which Last, as released, diverges", world, "cifar100") == 0
    lost = replace(world, changes=world.changes | {("cifar10", "scratch"): Outcome(status="not_reached")})
    found = [line for line in claim("Last never").measure(lost.tables()) if line.scenario == "cifar10"]
    assert [line.value for line in found] == [None], "without scratch nothing is counted"


def test_accuracy_on_test_data() -> None:
    """Scratch 0.8 (0.9 - 0.1), SIFU 0.75."""
    world = World(("mnist",), {("mnist", "sifu_released"): Outcome(40, 0.02, retain=0.85)})
    what = "accuracy of SIFU, as released, on test data"
    assert shown("SIFU's forget accuracy", what, world) == pytest.approx(-0.05)


def test_clients_that_are_hidden_are_counted_by_the_rule_of_each() -> None:
    tables = World(("mnist",)).tables()
    strict = tables.bounds["rule"] == "strict"
    own = tables.bounds["change"] == ""
    bounds = tables.bounds.assign(hidden=tables.bounds["hidden"].mask(strict & own, 30).mask(~strict & own, 70))

    def mean(name: str) -> Line:
        lines = claim(name).measure(replace(tables, bounds=bounds))
        return next(line for line in lines if line.scenario == "mnist" and line.what.startswith("single clients"))

    found = [mean(name).value for name in ("SIFU's certificate", "Strict SIFU's certificate")]
    assert [value.mean for value in found if value] == [pytest.approx(0.7), pytest.approx(0.3)]


def test_the_worst_ratio_is_a_median() -> None:
    """1, 2 and an explosion: the median is 2, and the largest is said."""
    tables = World(("mnist",), held={"": 0.5}).tables()
    worst = tables.bounds["seed"].map({0: 1.0, 1: 2.0, 2: 1e15})
    lines = claim("The paper's bound").measure(replace(tables, bounds=tables.bounds.assign(worst=worst)))
    worst_by_cohort = "worst alpha / Psi by the cohort"
    (found,) = [line.value for line in lines if line.scenario == "mnist" and line.what.startswith(worst_by_cohort)]
    assert found is not None
    assert (found.mean, found.low, found.high, found.seeds) == (2.0, 1.0, 1e15, 3)


def test_what_models_short_of_the_target_know_is_shown() -> None:
    """DP-FedAvg never reaches the target, and knows 0.6 of the forgotten clients: shown, and not judged."""
    world = World(("mnist",), {("mnist", "dp_released"): Outcome(30, 0.6, status="not_reached")})
    first, *others = [line for line in claim("DP").measure(world.tables()) if line.scenario == "mnist"]
    assert (first.value, first.verdict) == (None, Verdict.NOT_TESTABLE)
    assert [(line.value.mean, line.verdict) for line in others if line.value] == [(pytest.approx(0.6), None)]
    assert not [line for line in claim("DP").measure(World().tables()) if "short of" in line.what]


def test_fed_eraser_is_also_compared_with_sifu() -> None:
    """80 rounds of ten client steps each, SIFU 40."""
    world = World(("mnist",), {("mnist", "fed_eraser_searched"): Outcome(80)})
    (line,) = [
        line for line in claim("FedEraser, dt and r searched").measure(world.tables()) if "beyond SIFU's" in line.what
    ]
    assert line.value is not None
    assert (line.value.mean, line.verdict) == (pytest.approx(1.0), None)


def test_client_steps_are_shown_with_rounds() -> None:
    """Ten client steps a round here, so the same shares. The first average is the one judged: rounds for the paper's
    claims, client steps for FedEraser's searched settings, which were chosen by them.
    """
    for name, saved, judged in (("SIFU takes", 0.6, "rounds"), ("FedEraser, dt and r searched", 0.12, "client steps")):
        lines = claim(name).measure(World().tables())
        steps = [line for line in lines if line.what.startswith("client steps") and line.scenario == "mnist"]
        steps = [line for line in steps if "beyond SIFU's" not in line.what]
        assert [line.value.mean for line in steps if line.value] == [pytest.approx(saved)]
        assert next(line for line in lines if line.scenario == "").what.startswith(judged)


def test_what_sifu_as_described_saves_is_shown() -> None:
    """Its released code saves 60%, SIFU as described 30%: 30 points apart."""
    world = World(changes={("*", "sifu"): Outcome(70)})
    lines = claim("SIFU takes").measure(world.tables())
    averages = [line for line in lines if line.scenario == "" and line.what.startswith("rounds")]
    assert [line.value.mean for line in averages if line.value] == [pytest.approx(0.6), pytest.approx(0.3)]
    assert verdict("SIFU takes", world) is Verdict.HOLDS
    assert verdict("SIFU, as the text describes it, takes", world) is Verdict.IN_PART
    assert measured("SIFU, as the text describes it, saves", world, "").mean == pytest.approx(0.3)
    assert verdict("SIFU, as the text describes it, saves", world) is Verdict.FAILS
