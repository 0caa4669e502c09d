"""The search for a setting: what is chosen, what is stored, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sifu.cli.main import main
from sifu.config.scenario import Scenario
from sifu.config.search import Search, trials
from sifu.config.variant import Variant
from sifu.errors import StoreError
from sifu.methods.dp_fedavg import DpFedAvg
from sifu.methods.fed_eraser import FedEraser
from sifu.methods.scratch import Scratch
from sifu.plan.load import load_scenario, load_suite, read_yaml
from sifu.plan.variants import method_of
from sifu.report.searches import searches
from sifu.stages.block import Block
from sifu.stages.choice import best_trial, chosen_values
from sifu.stages.partition import run_partition
from sifu.stages.search import run_search
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.store.experiment_schemas import SEARCH
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS, CURVES
from sifu.unlearning.method import Method
from tests.conftest import REPO

VARIANT = Variant(
    label="DP", method="dp_fedavg", search=Search(grid={"clip": [0.001, 0.2]}, rounds=6, num_seeds=2, first_seed=50)
)


def methods_of(variant: Variant, scenario: Scenario) -> dict[str, Method]:
    assert variant.search is not None
    return {text: method_of("x", variant, scenario, values) for text, values in trials(variant.search.grid).items()}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("search")
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root)
    seeds = range(50, 52)
    run_partition("smoke", scenario, seeds, root, data_root=root)
    block = Block("smoke", scenario, seeds, root / "partition.parquet", root)
    assert VARIANT.search is not None
    none = root / "none"
    run_search(block, "dp", VARIANT.search, methods_of(VARIANT, scenario), root, history=none, training=none)
    return root / "search.parquet"


def test_every_value_is_tried_with_the_same_budget_and_stored(searched: Path) -> None:
    table = read_table(searched, SEARCH)
    assert table[["value", "seed"]].apply(tuple, axis=1).tolist() == [
        ("0.001", 50),
        ("0.001", 51),
        ("0.2", 50),
        ("0.2", 51),
    ]
    assert (table["rounds"] == 6).all()
    assert (table["client_steps"] == 6 * 10 * 5).all()
    assert table[["forget_accuracy", "retrained_accuracy"]].isna().all(axis=None), "nobody was forgotten"
    assert table.groupby("value")["chosen"].all().to_dict() == {"0.001": False, "0.2": True}
    means = table.groupby("value")["accuracy"].mean()
    assert means["0.2"] > means["0.001"]
    assert VARIANT.search is not None
    assert chosen_values(searched, VARIANT.search) == {"clip": 0.2}
    assert '"clip": 0.001' in read_stamp(searched)["settings"]


def test_values_in_one_batch_are_the_values_one_by_one(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, where many fit into one batch."""
    monkeypatch.setattr(Block, "pack_size", lambda _: 2)
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", tmp_path)
    block = Block("smoke", scenario, range(50, 52), searched.parent / "partition.parquet", tmp_path)
    assert VARIANT.search is not None
    methods, none = methods_of(VARIANT, scenario), tmp_path / "none"
    run_search(block, "dp", VARIANT.search, methods, tmp_path, history=none, training=none)
    together = read_table(tmp_path / "search.parquet", SEARCH)
    pd.testing.assert_frame_equal(together, read_table(searched, SEARCH))


def test_what_was_searched_is_shown_to_people(searched: Path) -> None:
    shown = searches(read_table(searched, SEARCH), {"dp": "DP-FedAvg"})
    assert shown["chosen"].tolist() == ["", "by accuracy"]
    assert shown["target met"].tolist() == ["0 of 2", "0 of 2"]
    assert shown["client steps"].tolist() == [">= 300", ">= 300"]  # 6 rounds of 10 clients and 5 steps


def test_a_table_without_a_choice_is_refused(searched: Path, tmp_path: Path) -> None:
    table = read_table(searched, SEARCH).assign(chosen=False)
    write_table(tmp_path / "search.parquet", SEARCH, table, provenance("search", {}, "0", "cpu"))
    assert VARIANT.search is not None
    with pytest.raises(StoreError, match=r"which one of the values 0\.001; 0\.2 was chosen"):
        chosen_values(tmp_path / "search.parquet", VARIANT.search)
    with pytest.raises(StoreError, match=r"which one of the values 0\.5 was chosen"):  # what was found is not tried now
        chosen_values(searched, replace(VARIANT.search, grid={"clip": [0.5]}))


def test_the_value_that_was_found_is_used() -> None:
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", REPO)
    method = method_of("dp", VARIANT, scenario, {"clip": 0.2})
    assert isinstance(method, DpFedAvg)
    assert method.clip == 0.2


def test_commands_say_what_they_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--scenario",
        "smoke",
        "--block",
        "s000-001",
        "--results",
        str(tmp_path),
        "--config",
        str(REPO / "config"),
    ]
    assert main(["search", "--variant", "sifu", *options]) == 2
    assert "a variant with a `search`" in capsys.readouterr().err
    assert main(["train", "--variant", "sifu", *options]) == 2
    assert "a training of its own" in capsys.readouterr().err
    assert main(["train", "--variant", "dp_smoke", *options]) == 2
    assert "search.parquet does not exist: run the stage that makes it first" in capsys.readouterr().err


def test_a_search_ends_with_the_rounds_that_are_paid_for(searched: Path, tmp_path: Path) -> None:
    """An accounted training of at most 4 rounds is not searched with 6."""
    variant = replace(VARIANT, settings={"mode": "accounted", "rounds": 8})
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", tmp_path)
    block = Block("smoke", scenario, range(50, 52), searched.with_name("partition.parquet"), tmp_path)
    assert variant.search is not None
    methods = {"0.1": method_of("dp", variant, scenario, {"clip": 0.1})}
    run_search(block, "dp", variant.search, methods, tmp_path, history=tmp_path, training=tmp_path)
    assert set(read_table(tmp_path / "search.parquet", SEARCH)["rounds"]) == {4}


ERASER = Variant(
    label="E", method="fed_eraser", search=Search(grid={"every": [1, 2, 5], "calibration": [0.5, 1.0]}, first_seed=50)
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Block:
    """Two seeds of `smoke` that are not reported, and the scenario's training next to the partition."""
    root = tmp_path_factory.mktemp("eraser")
    scenario, seeds = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root), range(50, 52)
    run_partition("smoke", scenario, seeds, root, data_root=root)
    block = Block("smoke", scenario, seeds, root / "partition.parquet", root)
    run_train(block, root)
    return block


def search_eraser(block: Block, folder: Path, **changes: object) -> pd.DataFrame:
    search = replace(ERASER.search, **changes)  # type: ignore[type-var]
    assert search is not None
    history, training = (block.partition.with_name(name) for name in ("history.safetensors", "cells.parquet"))
    methods = methods_of(replace(ERASER, search=search), block.scenario)
    run_search(block, "e", search, methods, folder, history=history, training=training)
    return read_table(folder / "search.parquet", SEARCH)


def test_a_method_without_a_training_answers_the_first_request(trained: Block, tmp_path: Path) -> None:
    """What a trial costs is what stage `unlearn` counts at request 1: calibration included."""
    table = search_eraser(trained, tmp_path)
    assert set(table["setting"]) == {"every, calibration"}
    assert table["value"].tolist()[::2] == ["1, 0.5", "1, 1", "2, 0.5", "2, 1", "5, 0.5", "5, 1"]
    method = FedEraser(every=2, calibration=0.5)
    history, training = (trained.partition.with_name(name) for name in ("history.safetensors", "cells.parquet"))
    run_unlearn(trained, "e", method, tmp_path, history=history, training=training)
    cells = read_table(tmp_path / "cells.parquet", CELLS).query("stop == 'target' and request == 1")
    own = table[table["value"] == "2, 0.5"]
    for column in ("seed", "status", "rounds", "client_steps"):
        assert own[column].tolist() == cells[column].tolist(), column
    assert own["forget_accuracy"].tolist() == [accuracy_of_forgotten(tmp_path, seed) for seed in own["seed"]]
    run_unlearn(trained, "scratch", Scratch(), tmp_path / "scratch", history=history, training=training)
    retrained = {seed: accuracy_of_forgotten(tmp_path / "scratch", seed) for seed in own["seed"]}
    assert (table["retrained_accuracy"] == table["seed"].map(retrained)).all()
    assert int(table.loc[table["chosen"], "place"].iloc[0]) == best_trial(table)
    chosen = table.loc[table["chosen"], "value"].iloc[0]
    assert ERASER.search is not None
    assert chosen_values(tmp_path / "search.parquet", ERASER.search) == trials(ERASER.search.grid)[chosen]


def accuracy_of_forgotten(folder: Path, seed: int) -> float:
    """What stage `unlearn` measures in the last round of request 1, on the data of the clients forgotten."""
    rows = read_table(folder / "curves.parquet", CURVES).query("stop == 'target' and request == 1 and seed == @seed")
    return float(rows.sort_values("round")["forget_accuracy"].iloc[-1])


def test_recovery_ends_with_the_searchs_rounds(trained: Block, tmp_path: Path) -> None:
    """1 round of recovery; those of calibration come on top: of T trained rounds every 5th, but for the first."""
    table = search_eraser(trained, tmp_path, grid={"every": [5]}, rounds=1)
    rounds = read_table(trained.partition.with_name("cells.parquet"), CELLS)["rounds"]
    assert table["rounds"].tolist() == [1 + (int(count) - 1) // 5 for count in rounds]


def test_without_a_limit_a_recovery_has_twice_the_trainings_rounds(trained: Block, tmp_path: Path) -> None:
    """Trainings of 3 and 4 rounds allow 8, of a target that is not reached; one round of 11 or so is calibrated."""
    cells = read_table(trained.partition.with_name("cells.parquet"), CELLS)
    write_table(tmp_path / "cells.parquet", CELLS, cells.assign(rounds=[3, 4]), provenance("train", {}, "0", "cpu"))
    stop = replace(trained.scenario.stop, accuracy=0.9999)
    block = replace(trained, scenario=replace(trained.scenario, stop=stop))
    search = Search(grid={"every": [int(cells["rounds"].min()) - 1]}, first_seed=50)
    methods = methods_of(replace(ERASER, search=search), block.scenario)
    history = trained.partition.with_name("history.safetensors")
    run_search(block, "e", search, methods, tmp_path, history=history, training=tmp_path / "cells.parquet")
    assert set(read_table(tmp_path / "search.parquet", SEARCH)["rounds"]) == {9}
    assert search.limit(10_000) == 20_000  # `limited` keeps the scenario's own maximum
    assert replace(search, rounds=7).limit(10_000) == 7


def test_without_a_limit_a_training_of_a_methods_own_has_the_scenarios(trained: Block, tmp_path: Path) -> None:
    """With C = 1e-9 nothing is learnt, so that all rounds are spent: more than twice those of the training."""
    search = Search(grid={"clip": [1e-9]}, first_seed=50)
    methods = methods_of(replace(VARIANT, search=search), trained.scenario)
    run_search(trained, "dp", search, methods, tmp_path, history=tmp_path, training=tmp_path / "none")
    rounds = set(read_table(tmp_path / "search.parquet", SEARCH)["rounds"])
    assert rounds == {trained.scenario.stop.max_rounds}
    longest = int(read_table(trained.partition.with_name("cells.parquet"), CELLS)["rounds"].max())
    assert trained.scenario.stop.max_rounds > 2 * longest


@pytest.mark.parametrize("size", [4, pytest.param(2, marks=pytest.mark.long)])
def test_values_in_one_batch_are_those_alone(
    trained: Block, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = search_eraser(trained, tmp_path / "alone")
    monkeypatch.setattr(Block, "pack_size", lambda block: size)
    pd.testing.assert_frame_equal(alone, search_eraser(trained, tmp_path / "packed"), check_exact=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("stored", "searched"), [("dp_default_released", "dp_released"), ("dp_default_accounted", "dp_accounted_short")]
)
def test_the_default_config_has_the_values_that_its_searches_find(stored: str, searched: str, tmp_path: Path) -> None:
    """`make search` in place of a search in every default run: config/variants.yaml holds what it found."""
    variants = load_suite(read_yaml(REPO / "config" / "search.yaml"), REPO / "config").all_variants
    search = variants[searched].search
    assert search is not None
    usual = ["--scenario", "mnist_embedded", "--config", str(REPO / "config"), "--results", str(tmp_path)]
    assert main(["partition", "--block", search.block, *usual]) == 0
    assert main(["train", "--block", search.block, "--device", "cpu", *usual]) == 0
    assert main(["search", "--variant", searched, "--block", search.block, "--device", "cpu", *usual]) == 0
    folder = tmp_path / "search" / "mnist_embedded" / searched / search.block
    own = variants[searched].settings or {}
    assert variants[stored].settings == own | chosen_values(folder / "search.parquet", search)
