"""Claims: each where it is true and where it is false, and measures on numbers known by hand.

Of the tables of tests/small_replication.py.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sifu.plan.load import load_suite, read_yaml
from sifu.replication.claims import forgetting
from sifu.replication.claims.catalog import CLAIMS, PAPER
from sifu.replication.claims.stored_tables import DATASETS
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim, measured, verdict
from tests.conftest import REPO
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World

HOLDS, IN_PART, FAILS, UNDECIDED, NOT_TESTABLE, NOT_RUN = Verdict


EXAMPLE = "On a linear regression"  # needs no dataset
HISTORY = "SIFU's speed-up comes from what it keeps"


LONG = pytest.mark.long


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS])
def test_every_claim_holds_where_it_is_true(name: str) -> None:
    """SIFU saves 60%, FedEraser takes 12% more, the best sigma that gets there is 2.5 times as fast, and so on."""
    assert verdict(name, World()) is HOLDS


@pytest.mark.long
@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS])
def test_a_claim_without_a_dataset_is_not_testable(name: str) -> None:
    assert verdict(name, World(())) is NOT_TESTABLE
    if not name.startswith(EXAMPLE):
        assert verdict(name, World(("mnist_by_writer",))) is NOT_TESTABLE, "a scenario that is only shown counts"


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [name for name in (claim.name for claim in CLAIMS) if "trade-off" not in name and not name.startswith(EXAMPLE)],
)
def test_without_celeba_a_claim_holds_in_part(name: str) -> None:
    assert verdict(name, World(DATASETS[:-1])) is IN_PART


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("SIFU takes 52%", World(changes={("*", "sifu_released"): Outcome(101, 0.02)})),
        ("FedEraser takes 12%", World(changes={("*", "fed_eraser_released"): Outcome(150, counted=99)})),
        ("SIFU has the best trade-off", World(changes={("*", "last_released"): Outcome(gap=0.05)})),
        ("Fine-tuning", World(changes={("*", "fine_tuning"): Outcome(50, 0.04)})),
        ("FedAccum forgets", World(changes={("*", "fed_accum_released"): Outcome(50, 0.0)})),
        (
            "Last does well",
            World(
                changes={(name, "last_released"): Outcome(retain=0.9 if "cifar" in name else 0.5) for name in DATASETS}
            ),
        ),
        ("Last never", World(changes={("*", "last_released"): Outcome(30)})),
        ("Last, as the text", World(changes={("*", "last"): Outcome(30)})),
        ("With watermarks", World(changes={("*", "fine_tuning"): Outcome(40, 0.02)})),  # as fast, and forgets as well
        (HISTORY, World(changes={("*", "blurred_scratch"): Outcome(70)})),  # 30% by noise, half of SIFU's 60%
        ("The best sigma", World(sweep={0.1: (51.0, "done"), 1.0: (20.0, "not_reached")})),  # 100 / 51 < 2
        ("SIFU's forget accuracy", World(changes={("*", "sifu_released"): Outcome(40, 0.2)})),
        ("The paper's bound", World(held={"": 0.99})),
        ("DP", World(changes={("*", "dp_released"): Outcome(30, 0.01)})),
        ("SIFU's certificate", World(changes={("*", "sifu"): Outcome(40, delta=1.0)})),
        ("Strict SIFU's certificate", World(changes={("*", "sifu_strict"): Outcome(40, delta=0.011)})),
        ("With backdoors", World(changes={("*", "sifu"): Outcome(40, triggers=60)})),
        ("SIFU's speed-up survives", World(changes={("*", "sifu_strict"): Outcome(100)})),
        ("SIFU, as the text describes it, takes", World(changes={("*", "sifu"): Outcome(101)})),
        ("SIFU, as the text describes it, saves", World(changes={("*", "sifu"): Outcome(120)})),
        ("FedEraser, dt and r searched", World(changes={("*", "fed_eraser_searched"): Outcome(80)})),
        ("FedAccum, as its own paper", World(changes={("*", "fed_accum"): Outcome(50, 0.0)})),
        ("SIFU's trade-off is still the best next to corrected", World(changes={("*", "fed_accum"): Outcome(gap=0.0)})),
        ("SIFU's trade-off is still the best with DP", World(changes={("*", "dp_released"): Outcome(gap=0.05)})),
        (
            "SIFU's trade-off is still the best next to scratch",
            World(changes={("*", "last_released"): Outcome(gap=0.05)}),
        ),
        ("For other sets", World(changes={("*", "sifu_released"): Outcome(101, 0.02)})),
        ("FedEraser forgets", World(changes={("*", "fed_eraser_released"): Outcome(149, 0.2)})),
        ("With little noise", World(sweep={0.01: (90.0, "done"), 1.0: (5.0, "lost")})),  # 10% fewer rounds than scratch
        ("With much noise", World(changes={("*", "last_released"): Outcome(30, cut=199)})),
        (EXAMPLE, World(left=0.9)),
        ("SIFU costs the clients", World(changes={("*", "sifu_released"): Outcome(40, 0.02, steps=11)})),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_claim_fails_where_it_is_false(name: str, world: World) -> None:
    assert verdict(name, world) is FAILS


def test_rounds_are_those_of_all_requests_seed_by_seed() -> None:
    """Two requests of 40, 60 and 80 rounds, scratch 100 each: 60%, 40% and 20% are saved, 40% in the mean."""
    world = World(("mnist",), {("mnist", "sifu_released"): Outcome(40, spread=20)})
    found = measured("SIFU takes", world, "mnist")
    assert found.mean == pytest.approx(0.4)
    assert (found.low, found.high, found.seeds) == (pytest.approx(0.2), pytest.approx(0.6), 3)


def test_the_average_is_over_datasets_then_over_seeds() -> None:
    """MNIST saves 60, 40, 20%; FashionMNIST 60% always: seeds average 60, 50, 40%, the mean is 50%."""
    world = World(("mnist", "fashionmnist", "mnist_by_writer"), {("mnist", "sifu_released"): Outcome(40, spread=20)})
    assert measured("SIFU takes", world, "").mean == pytest.approx(0.5)


def test_clients_that_fed_eraser_leaves_in_are_shown() -> None:
    """On all forgotten clients it is at scratch's 0.1 or so, on those of the request 0.5 above it."""
    tables = World(("mnist",)).tables()
    alone = tables.metrics[tables.metrics["subset"] == "forgotten"].assign(subset="forget")
    alone["value"] += 0.5 * (alone["variant"] == "fed_eraser_released")
    metrics = pd.concat([tables.metrics[tables.metrics["subset"] != "forget"], alone])
    lines = claim("FedEraser forgets").measure(replace(tables, metrics=metrics))
    judged, shown = (line.value for line in lines if line.scenario == "mnist" and line.value)
    assert shown.mean == pytest.approx(judged.mean + 0.5)


def test_seeds_that_did_not_finish_have_no_cost() -> None:
    """They were run all the same."""
    world = World(("mnist",), {("mnist", "sifu_released"): Outcome(1, status="diverged")})
    assert verdict("SIFU takes", world) is NOT_TESTABLE
    found = {line.scenario: line for line in reversed(claim("SIFU takes").measure(world.tables()))}
    assert (found["mnist"].verdict, found["mnist"].ran) == (NOT_TESTABLE, 3)
    assert (found["celeba"].verdict, found["celeba"].ran) == (NOT_RUN, 0)
    stopped = World(changes={("*", "fed_eraser_released"): Outcome(150, status="not_reached")})
    assert verdict("FedEraser takes", stopped) is NOT_TESTABLE, "rounds after which it was stopped are no cost"
    lost = World(("mnist",), sweep={0.1: (10.0, "diverged")})
    assert claim("The best sigma").measure(lost.tables())[0].verdict is NOT_TESTABLE


def test_fed_erasers_rounds_are_those_that_its_code_counts() -> None:
    """Of 150 rounds 112 are counted, scratch takes 100: 12% more by the paper's unit, 50% more rounds in fact."""
    lines = [line for line in claim("FedEraser takes").measure(World().tables()) if line.scenario == "mnist"]
    means = {line.what.partition(" of FedEraser")[0]: line.value.mean for line in lines if line.value}
    assert means == {
        "counted rounds": pytest.approx(0.12),
        "rounds": pytest.approx(0.5),
        "client steps": pytest.approx(0.5),
    }
    assert [line.verdict for line in lines] == [HOLDS, None, None]


@pytest.mark.parametrize(
    ("name", "table"), [("SIFU has", "metrics"), ("Last does well", "metrics"), ("The best sigma", "sweep")]
)
def test_figures_of_one_request_are_judged_by_the_first(name: str, table: str) -> None:
    """Whatever later requests say; the sequential claims read all of them."""
    tables, found = World(("mnist",), marks=PLAIN).tables(), claim(name)
    rows = getattr(tables, table).copy()
    later = rows["request"] > 1
    column = "value" if table == "metrics" else "rounds"
    rows.loc[later, column] = rows.loc[later, column] * 7 + 1
    assert found.measure(replace(tables, **{table: rows})) == found.measure(tables)
    cells = tables.cells.assign(rounds=tables.cells["rounds"] + (tables.cells["request"] > 1) * tables.cells["seed"])
    changed, own = replace(tables, cells=cells), claim("SIFU takes")
    assert own.measure(changed) != own.measure(tables)


def test_claims_of_the_paper_judge_methods_as_released() -> None:
    """Without the rows of methods as described, every claim of the paper has the same verdict."""
    described = {"sifu", "last", "fed_eraser_searched", "fed_accum"}
    for found in PAPER:
        tables = World(marks=("", "_watermark")).tables()
        parts = {name: getattr(tables, name) for name in ("cells", "metrics", "sets")}
        kept = {name: rows[~rows["variant"].isin(described)] for name, rows in parts.items()}
        assert found.judge(found.measure(replace(tables, **kept))) is HOLDS, found.name


def test_the_best_sigma_is_one_that_gets_there() -> None:
    """100 / 40 = 2.5 at 0.1; at 1.0 it is 20, but it is lost. Accuracy 0.1 there, scratch's 0."""
    assert measured("The best sigma", World(), "mnist").mean == pytest.approx(2.5)
    assert measured("The best sigma", World(), "mnist", 1).mean == pytest.approx(0.1)


def test_overlap_is_what_the_paper_claims_of_fashion_mnist() -> None:
    changes = {(name, "sifu_released"): Outcome(40, 0.0) for name in ("mnist", "fashionmnist")}
    lines = forgetting.slightly_above(World(changes=changes).tables())
    found = {line.scenario: line.verdict for line in lines if line.verdict is not None}
    assert (found["mnist"], found["fashionmnist"]) == (IN_PART, HOLDS)


def test_commands_name_what_the_config_runs() -> None:
    config = REPO / "config" / "paper.yaml"
    plan, pair = read_yaml(config), ["scratch", "sifu"]
    load_suite(plan | {"scenarios": ["mnist"], "variants": pair, "shown": pair}, config.parent)
    for found in CLAIMS:
        if "--cell" in found.command:
            scenario, variant, seed, *stop = found.command.split("--cell ")[1].split("/")
            limited = "trade-off" in found.name or found.name.startswith("Last does well")
            assert stop == (["budget_25"] if limited else [])
            assert scenario in plan["scenarios"]
            assert variant in plan["variants"]
            assert int(seed) in range(plan["first_seed"], plan["first_seed"] + plan["num_seeds"])
        elif not found.name.startswith(EXAMPLE):
            assert "--configfile config/paper.yaml" in found.command
    assert len({found.name for found in CLAIMS}) == len(CLAIMS)
    assert len(PAPER) == 18


def test_models_that_never_recovered_have_not_forgotten() -> None:
    """DP's model never gets back to the target: no seed has a number, of three that were run."""
    found = claim("DP").measure(World(changes={("*", "dp_released"): Outcome(30, 0.0, status="not_reached")}).tables())
    assert (found[0].value, found[0].verdict, found[0].ran) == (None, NOT_TESTABLE, 3)
    lost = World(changes={("*", "scratch"): Outcome(status="not_reached")})
    assert claim("Fine-tuning").measure(lost.tables())[0].verdict is NOT_TESTABLE, "nor has scratch's"


def test_last_is_not_blamed_where_scratch_fails() -> None:
    """CIFAR's target may be out of reach for all."""
    lost = World(changes={("*", "scratch"): Outcome(status="not_reached")})
    for name in ("Last does well", "Last never"):
        assert verdict(name, lost) is NOT_TESTABLE


def test_a_seed_that_last_lacks_counts_on_cifar_too() -> None:
    """Scratch did not get there in one seed of three: what fails in the others fails in part."""
    tables = World().tables()
    cells = tables.cells.copy()
    lost = (cells["scenario"] == "cifar10") & (cells["variant"] == "scratch") & (cells["seed"] == 0)
    cells.loc[lost, "status"] = "not_reached"
    found = {
        line.scenario: line for line in claim("Last does well").measure(replace(tables, cells=cells)) if line.counts
    }
    assert (found["cifar10"].verdict, found["cifar100"].verdict) == (IN_PART, HOLDS)


def test_how_far_last_stays_below_scratch() -> None:
    """0.9 at the target minus 0.5 under both limits; and it never recovers."""
    assert measured("Last does well", World(), "cifar10").mean == pytest.approx(0.4)
    assert measured("Last does well", World(), "cifar10", 1).mean == 0
    assert measured("Last never", World(changes={("*", "last_released"): Outcome(30)}), "mnist").mean == 1


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({("*", "fed_accum_released"): Outcome(50, 0.0)}, IN_PART),  # SIFU is not the only one
        pytest.param({("*", "fed_accum_released"): Outcome(50, 0.0, status="not_reached")}, HOLDS, marks=LONG),
        ({("*", "sifu_released"): Outcome(40, 0.2)}, FAILS),  # fast, but it does not forget
        pytest.param(  # nothing to measure on one of five
            {("mnist", "sifu_released"): Outcome(40, status="diverged")}, IN_PART, marks=LONG
        ),
    ],
)
def test_only_sifu_is_faster_and_forgets(change: dict[tuple[str, str], Outcome], wanted: Verdict) -> None:
    assert verdict("For other sets", World(changes=change)) is wanted
    saved, known = (measured("For other sets", World(), "mnist", place).mean for place in (0, 1))
    assert (saved, known) == (pytest.approx(0.6), pytest.approx(0.02)), "40 of 100 rounds"


def test_no_claim_names_a_variant_by_its_id() -> None:
    """What people read has labels: ids have an underscore."""
    tables = World(("mnist", "mnist_by_writer"), held={"": 1.0}).tables()
    assert not [line.what for claim in CLAIMS for line in claim.measure(tables) if "_" in line.what]


def test_a_seed_that_is_missing_is_said_of_the_average() -> None:
    tables = World().tables()
    cells = tables.cells.copy()
    first = (cells["scenario"] == "mnist") & (cells["variant"] == "sifu_released") & (cells["stop"] == "target")
    cells.loc[first & (cells["seed"] == 0), "status"] = "diverged"
    lines = claim("SIFU takes").measure(replace(tables, cells=cells))
    whole = next(line for line in lines if line.scenario == "")
    assert whole.value is not None
    assert (whole.value.seeds, whole.ran) == (2, 3)
    assert claim("SIFU takes").judge(lines) is IN_PART
