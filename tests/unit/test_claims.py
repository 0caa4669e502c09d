"""Claims: every rule with each of its outcomes, and every measure on numbers that are on paper (tests/claimed.py)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.claims import CLAIMS, PAPER, bound, certificate, forgetting, last, rounds, sigma, trade_off
from sifu.claims.claim import Claim, Line, Measured, Verdict, all_of, on_average
from sifu.claims.tables import DATASETS
from sifu.config import load_suite, read_yaml
from tests.claimed import Said, World
from tests.conftest import REPO

HOLDS, IN_PART, FAILS, NOT_TESTABLE, NOT_RUN = Verdict


def between(low: float, high: float) -> Measured:
    return Measured((low + high) / 2, low, high, 10)


@pytest.mark.parametrize(
    ("rule", "low", "high", "wanted"),
    [
        (rounds.above_zero, 0.01, 0.1, HOLDS),
        (rounds.above_zero, 0.0, 0.1, FAILS),
        (rounds.saves_as_claimed, 0.4, 0.52, HOLDS),
        (rounds.saves_as_claimed, 0.4, 0.51, IN_PART),
        (rounds.saves_as_claimed, 0.0, 0.9, FAILS),
        (rounds.takes_as_claimed, 0.05, 0.12, HOLDS),
        (rounds.takes_as_claimed, 0.13, 0.2, IN_PART),
        (rounds.takes_as_claimed, 0.01, 0.11, IN_PART),
        (rounds.takes_as_claimed, -0.1, 0.2, FAILS),
        (forgetting.poor, 0.06, 0.2, HOLDS),
        (forgetting.poor, 0.04, 0.06, IN_PART),
        (forgetting.poor, 0.0, 0.05, FAILS),
        (forgetting.slightly, 0.01, 0.1, HOLDS),
        (forgetting.slightly, -0.01, 0.01, IN_PART),
        (forgetting.slightly, 0.2, 0.3, FAILS),
        (forgetting.slightly, -0.2, -0.1, FAILS),
        (trade_off.wins, 0.1, 0.2, HOLDS),
        (trade_off.wins, -0.1, 0.2, IN_PART),
        (trade_off.wins, -0.2, -0.1, FAILS),
        (last.recovers, 0.9, 0.9, HOLDS),
        (last.recovers, 0.5, 0.5, IN_PART),
        (last.recovers, 0.1, 0.1, FAILS),
        (last.breaks, 0.9, 0.9, FAILS),
        (last.breaks, 0.5, 0.5, IN_PART),
        (last.breaks, 0.1, 0.1, HOLDS),
        (sigma.between, 1.5, 2.0, HOLDS),
        (sigma.between, 4.9, 7.0, HOLDS),
        (sigma.between, 5.1, 7.0, IN_PART),
        (sigma.between, 1.0, 1.9, FAILS),
        (certificate.kept, 0.5, 1.0, HOLDS),
        (certificate.kept, 0.5, 1.1, IN_PART),
        (certificate.kept, 1.1, 99.0, FAILS),
    ],
)
def test_a_rule(rule: object, low: float, high: float, wanted: Verdict) -> None:
    assert rule(between(low, high)) is wanted  # type: ignore[operator]


def lines(*verdicts: Verdict) -> list[Line]:
    """One a dataset; those that were not run have no number."""
    assert len(verdicts) == len(DATASETS)
    return [
        Line(name, "", None if verdict in (NOT_RUN, NOT_TESTABLE) else between(0, 1), verdict)
        for name, verdict in zip(DATASETS, verdicts, strict=True)
    ]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([HOLDS] * 5, HOLDS),
        ([HOLDS] * 4 + [NOT_RUN], IN_PART),
        ([HOLDS] + [FAILS] * 4, IN_PART),
        ([IN_PART] * 5, IN_PART),
        ([FAILS] * 5, FAILS),
        ([FAILS] + [NOT_RUN] * 4, FAILS),
        ([NOT_RUN] * 5, NOT_TESTABLE),
        ([NOT_TESTABLE] * 4 + [NOT_RUN], NOT_TESTABLE),
        ([HOLDS] * 4 + [NOT_TESTABLE], IN_PART),
    ],
)
def test_a_claim_about_every_dataset(found: list[Verdict], wanted: Verdict) -> None:
    assert all_of(lines(*found)) is wanted
    beside = Line("mnist_by_writer", "", between(0, 1), None)
    assert all_of([*lines(*found), beside]) is wanted, "a scenario that stands beside counts"


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([HOLDS] * 4 + [NOT_RUN], HOLDS),  # four are won, whatever the fifth would say
        ([HOLDS] * 3 + [FAILS, NOT_RUN], IN_PART),
        ([HOLDS] * 3 + [IN_PART, FAILS], IN_PART),
        ([HOLDS] * 3 + [FAILS] * 2, FAILS),
        ([IN_PART] * 5, FAILS),  # nothing is won
        ([FAILS] + [NOT_RUN] * 4, NOT_TESTABLE),  # the others might all be
        ([NOT_RUN] * 5, NOT_TESTABLE),
    ],
)
def test_a_claim_about_four_datasets(found: list[Verdict], wanted: Verdict) -> None:
    assert trade_off.enough(lines(*found)) is wanted


@pytest.mark.parametrize(
    ("whole", "run", "wanted"),
    [
        (between(0.5, 0.6), 5, HOLDS),
        (between(0.5, 0.6), 4, IN_PART),
        (between(0.1, 0.2), 5, IN_PART),
        (between(-0.1, 0.2), 4, FAILS),
        (None, 0, NOT_TESTABLE),
    ],
)
def test_a_claim_about_the_average(whole: Measured | None, run: int, wanted: Verdict) -> None:
    parts = lines(*[HOLDS] * run, *[NOT_RUN] * (5 - run))
    assert on_average(rounds.saves_as_claimed)([*parts, Line("", "", whole)]) is wanted


@pytest.mark.parametrize(
    ("own", "run", "wanted"),
    [
        (between(0.3, 0.4), 5, HOLDS),  # SIFU's is 0.4 to 0.6
        (between(0.3, 0.4), 4, IN_PART),
        (between(0.1, 0.3), 5, IN_PART),
        (between(-0.1, 0.3), 5, FAILS),
        (None, 0, NOT_TESTABLE),
    ],
)
def test_what_survives(own: Measured | None, run: int, wanted: Verdict) -> None:
    parts = lines(*[HOLDS] * run, *[NOT_RUN] * (5 - run))
    assert rounds.survives([*parts, Line("", "", own), Line("", "", between(0.4, 0.6))]) is wanted


@pytest.mark.parametrize(
    ("own", "other", "wanted"),
    [
        (1.0, 1.0, HOLDS),
        (1.0, None, HOLDS),
        (1.0, 0.99, IN_PART),
        (0.99, 1.0, FAILS),
        (None, None, NOT_RUN),
    ],
)
def test_a_bound(own: float | None, other: float | None, wanted: Verdict) -> None:
    held = {"": own, "one_step": other}
    world = World(("mnist",), held={name: share for name, share in held.items() if share is not None})
    found = bound.psi_bounds(world.tables())
    assert found[0].verdict is wanted
    strict = [line for line in found if "strict" in line.what]
    assert all(line.value is not None and line.value.mean == 0 and line.verdict is None for line in strict)
    assert len(strict) == (own is not None)


def claim(name: str) -> Claim:
    (found,) = (claim for claim in CLAIMS if claim.name.startswith(name))
    return found


def verdict(name: str, world: World) -> Verdict:
    chosen = claim(name)
    return chosen.judge(chosen.measure(world.tables()))


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS])
def test_every_claim_holds_where_it_is_true(name: str) -> None:
    """SIFU saves 60%, FedEraser takes 12% more, the best sigma that gets there is 2.5 times as fast, and so on."""
    assert verdict(name, World()) is HOLDS


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS])
def test_a_claim_without_a_dataset_is_not_testable(name: str) -> None:
    assert verdict(name, World(())) is NOT_TESTABLE
    assert verdict(name, World(("mnist_by_writer",))) is NOT_TESTABLE, "what stands beside counts"


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS if "trade-off" not in claim.name])
def test_without_celeba_a_claim_holds_in_part(name: str) -> None:
    assert verdict(name, World(DATASETS[:-1])) is IN_PART


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("SIFU takes 52%", World(changes={("*", "sifu"): Said(101, 0.02)})),
        ("FedEraser takes 12%", World(changes={("*", "fed_eraser_released_searched"): Said(99)})),
        ("SIFU has the best trade-off", World(changes={("*", "last"): Said(gap=0.05)})),
        ("Fine-tuning", World(changes={("*", "fine_tuning"): Said(50, 0.04)})),
        ("FedAccum forgets", World(changes={("*", "fed_accum_released"): Said(50, 0.0)})),
        (
            "Last does well",
            World(
                changes={
                    (name, "last"): Said(30, status="done" if "cifar" in name else "diverged") for name in DATASETS
                }
            ),
        ),
        ("The best sigma", World(sweep={0.1: (51.0, "done"), 1.0: (20.0, "not_reached")})),  # 100 / 51 < 2
        ("SIFU's forget accuracy", World(changes={("*", "sifu"): Said(40, 0.2)})),
        ("alpha", World(held={"": 0.99})),
        ("DP", World(changes={("*", "dp_released"): Said(30, 0.01)})),
        ("SIFU's certificate", World(changes={("*", "sifu"): Said(40, delta=1.0)})),
        ("Strict SIFU's certificate", World(changes={("*", "sifu_strict"): Said(40, delta=0.011)})),
        ("SIFU's speed-up survives", World(changes={("*", "sifu_strict"): Said(100)})),
        ("SIFU's speed-up is that", World(changes={("*", "sifu_released"): Said(120)})),
        ("FedEraser, corrected", World(changes={("*", "fed_eraser_searched"): Said(80)})),
        ("FedAccum, corrected", World(changes={("*", "fed_accum"): Said(50, 0.0)})),
        ("SIFU's trade-off", World(changes={("*", "fed_accum"): Said(gap=0.0)})),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_claim_fails_where_it_is_false(name: str, world: World) -> None:
    assert verdict(name, world) is FAILS


def measured(name: str, world: World, scenario: str, place: int = 0) -> Measured:
    found = [line for line in claim(name).measure(world.tables()) if line.scenario == scenario]
    value = found[place].value
    assert value is not None
    return value


def test_rounds_are_those_of_all_requests_seed_by_seed() -> None:
    """Two requests of 40, 60 and 80 rounds, scratch 100 each: 60%, 40% and 20% are saved, 40% in the mean."""
    world = World(("mnist",), {("mnist", "sifu"): Said(40, spread=20)})
    found = measured("SIFU takes", world, "mnist")
    assert found.mean == pytest.approx(0.4)
    assert (found.low, found.high, found.seeds) == (pytest.approx(0.2), pytest.approx(0.6), 3)


def test_the_average_is_over_datasets_then_over_seeds() -> None:
    """MNIST saves 60, 40, 20%; FashionMNIST 60% always: seeds average 60, 50, 40%, the mean is 50%."""
    world = World(("mnist", "fashionmnist", "mnist_by_writer"), {("mnist", "sifu"): Said(40, spread=20)})
    assert measured("SIFU takes", world, "").mean == pytest.approx(0.5)


def test_seeds_that_did_not_finish_have_no_cost() -> None:
    """They were run all the same."""
    world = World(("mnist",), {("mnist", "sifu"): Said(1, status="diverged")})
    assert verdict("SIFU takes", world) is NOT_TESTABLE
    found = {line.scenario: line.verdict for line in claim("SIFU takes").measure(world.tables())}
    assert (found["mnist"], found["celeba"]) == (NOT_TESTABLE, NOT_RUN)
    lost = World(("mnist",), sweep={0.1: (10.0, "diverged")})
    assert claim("The best sigma").measure(lost.tables())[0].verdict is NOT_TESTABLE


def test_the_best_sigma_is_one_that_gets_there() -> None:
    """100 / 40 = 2.5 at 0.1; at 1.0 it is 20, but it is lost. Accuracy 0.1 there, scratch's 0."""
    assert measured("The best sigma", World(), "mnist").mean == pytest.approx(2.5)
    assert measured("The best sigma", World(), "mnist", 1).mean == pytest.approx(0.1)


def test_gaps_add_up_and_the_best_rival_counts() -> None:
    """SIFU: 0.1 + 0.1; fine-tuning 0.15 + 0.15, the others 0.5 + 0.5: the difference is 0.1."""
    world = World(("mnist",), {("mnist", "fine_tuning"): Said(gap=0.15)})
    assert measured("SIFU has", world, "mnist").mean == pytest.approx(0.1)
    assert "(fine_tuning)" in claim("SIFU has").measure(world.tables())[0].what


def test_a_trade_off_needs_all_rivals() -> None:
    tables = World(("mnist",)).tables()
    there = tables.metrics["variant"] != "last"
    found = trade_off.best_trade_off(trade_off.RELEASED)(replace(tables, metrics=tables.metrics[there]))
    assert found[0].verdict is NOT_RUN


def test_overlap_is_what_the_paper_claims_of_fashion_mnist() -> None:
    changes = {(name, "sifu"): Said(40, 0.0) for name in ("mnist", "fashionmnist")}
    found = {line.scenario: line.verdict for line in forgetting.slightly_above(World(changes=changes).tables())}
    assert (found["mnist"], found["fashionmnist"]) == (IN_PART, HOLDS)


@given(low=st.floats(-2, 8), width=st.floats(0, 3))
def test_a_better_number_never_makes_a_claim_worse(low: float, width: float) -> None:
    """Where more is better: fails, in part, holds, in this order."""
    order = [FAILS, IN_PART, HOLDS]
    worse, better = between(low, low + width), between(low + 0.5, low + 0.5 + width)
    for rule in (rounds.saves_as_claimed, forgetting.poor, trade_off.wins, last.recovers):
        assert order.index(rule(worse)) <= order.index(rule(better))


def test_commands_name_what_the_config_runs() -> None:
    config = REPO / "config" / "paper.yaml"
    plan, pair = read_yaml(config), ["scratch", "sifu"]
    load_suite(plan | {"scenarios": ["mnist"], "variants": pair, "shown": pair}, config.parent)
    for found in CLAIMS:
        if "--cell" in found.again:
            scenario, variant, seed = found.again.split("--cell ")[1].split("/")
            assert scenario in plan["scenarios"]
            assert variant in plan["variants"]
            assert int(seed) in range(plan["first_seed"], plan["first_seed"] + plan["num_seeds"])
        else:
            assert "--configfile config/paper.yaml" in found.again
    assert len({found.name for found in CLAIMS}) == len(CLAIMS)
    assert len(PAPER) == 10
