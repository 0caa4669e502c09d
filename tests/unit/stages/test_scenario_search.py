"""Values of a scenario's settings: what is tried, what is stored, what is said, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sifu.cli.main import main
from sifu.config.changed_scenario import tried_scenario
from sifu.config.search import ScenarioSearch
from sifu.core.types import Status
from sifu.errors import ConfigError
from sifu.plan.load import load_scenario, load_suite, load_variant
from sifu.plan.variants import method_of
from sifu.report.findings import findings
from sifu.report.results import Results
from sifu.report.scenario_searches import scenario_searches
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.stages.scenario_search import run_scenario_search, worst
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.store.experiment_schemas import SCENARIO_SEARCH
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS
from tests.conftest import REPO

CONFIG = REPO / "config"
SEARCH = ScenarioSearch(scenario="smoke_cnn", grid={"federation.clip": [None, 5.0]}, first_seed=50, rounds=8)


def block_of(root: Path) -> Block:
    scenario = replace(load_scenario(CONFIG / "scenarios.yaml", "smoke_cnn", root), model="logistic")
    run_partition("smoke_cnn", scenario, SEARCH.seeds, root, data_root=root)
    return Block("smoke_cnn", scenario, SEARCH.seeds, root / "partition.parquet", root)


def searched(block: Block, folder: Path, **changes: Any) -> pd.DataFrame:
    variant = load_variant(CONFIG / "variants.yaml", "sifu")
    run_scenario_search(block, variant, replace(SEARCH, **changes), folder)
    return read_table(folder / "scenario_search.parquet", SCENARIO_SEARCH)


def test_the_scenarios_own_value_costs_what_its_stages_count(tmp_path: Path) -> None:
    """Training and request 1 of stages `train` and `unlearn`, which know nothing of a search."""
    block = block_of(tmp_path)
    block = replace(block, scenario=replace(block.scenario, budgets=()))
    table = searched(block, tmp_path)
    assert table["value"].tolist() == ["null", "null", "5", "5"]
    assert table["used"].tolist() == [False, False, True, True]
    run_train(block, tmp_path / "train")
    method = method_of("sifu", load_variant(CONFIG / "variants.yaml", "sifu"), block.scenario)
    history, training = (tmp_path / "train" / name for name in ("history.safetensors", "cells.parquet"))
    run_unlearn(block, "sifu", method, tmp_path, history=history, training=training)
    trained = read_table(training, CELLS)
    answered = read_table(tmp_path / "cells.parquet", CELLS).query("stop == 'target' and request == 1")
    own = table[table["used"]]
    assert own["trained"].tolist() == trained["status"].tolist()
    assert own["training_rounds"].tolist() == trained["rounds"].tolist()
    assert own["rounds"].tolist() == answered["rounds"].tolist()
    both = trained["client_steps"].to_numpy() + answered["client_steps"].to_numpy()
    assert own["client_steps"].tolist() == both.tolist()


def test_nets_are_tried_and_a_net_that_diverges_is_not_chosen(tmp_path: Path) -> None:
    block = block_of(tmp_path)
    nets = searched(block, tmp_path / "nets", grid={"model": ["logistic", "cnn28_narrow"]}, rounds=2)
    assert (nets["training_rounds"] == 2).all()
    assert set(nets["setting"]) == {"model"}
    steps = searched(block, tmp_path / "steps", grid={"federation.client_lr": [1.0e38, 0.02]}, rounds=4)
    assert "diverged" in set(steps.loc[steps["place"] == 0, "status"])
    assert steps.groupby("value")["chosen"].all().to_dict() == {"1e+38": False, "0.02": True}


def test_a_seed_is_done_where_both_were() -> None:
    done, missed, lost = Status.DONE, Status.NOT_REACHED, Status.DIVERGED
    assert worst((done, done)) == done
    assert worst((done, missed)) == missed
    assert worst((lost, missed)) == lost


def trial(place: int, value: str, status: str, steps: int, *, used: bool, chosen: bool) -> dict[str, Any]:
    row = {"scenario": "smoke", "setting": "federation.clip", "place": place, "value": value, "seed": 50}
    numbers = {"training_rounds": 9, "rounds": 4, "client_steps": steps, "accuracy": 0.5}
    return row | numbers | {"variant": "sifu", "status": status, "used": used, "chosen": chosen}


def test_people_are_told_where_another_value_would_have_been_chosen(tmp_path: Path) -> None:
    rows = pd.DataFrame(
        [trial(0, "2", "done", 10, used=False, chosen=True), trial(1, "10", "diverged", 20, used=True, chosen=False)]
    )
    shown = scenario_searches(rows, own(10))
    assert shown["value"].tolist() == ["2", "10"]
    assert shown["target met"].tolist() == ["1 of 1", "0 of 1"]
    assert shown["diverged"].tolist() == ["0 of 1", "1 of 1"]
    assert shown["used"].tolist() == ["", "yes"]
    assert shown["chosen"].tolist() == ["yes", ""]
    run = {"scenarios": ["smoke"], "variants": ["scratch"], "results": "none"}
    plan = load_suite(run, CONFIG, {}).report_plan()

    def found(clip: float | None) -> list[str]:
        source = Results(replace(plan, settings=own(clip)))
        source.__dict__["scenario_trials"] = rows
        return findings(source)

    words = "Smoke: federation.clip 10 is used (>= 20 client steps), the search would have chosen 2 (10)."
    assert found(10) == [words]
    untried = "is used and was not tried (10 was used when the search was made), the search would have chosen 2."
    assert found(10_000.0) == [f"Smoke: federation.clip 10000 {untried}"]
    assert found(None) == [f"Smoke: federation.clip null {untried}"]
    assert words not in found(2)


def own(clip: float | None) -> dict[str, Any]:
    """Today's settings of a scenario, as a plan has them."""
    return {"smoke": {"model": "logistic", "federation": {"clip": clip, "client_lr": 0.02}}}


@pytest.mark.parametrize(
    ("clip", "used"), [(10, ["", "yes"]), (2, ["yes", "when searched"]), (10_000, ["", "when searched"])]
)
def test_what_is_used_is_what_is_planned_today(clip: float, used: list[str]) -> None:
    """Stored is that 10 was used; the config may have changed since."""
    rows = [trial(0, "2", "done", 10, used=False, chosen=True), trial(1, "10", "done", 20, used=True, chosen=False)]
    assert scenario_searches(pd.DataFrame(rows), own(clip))["used"].tolist() == used
    assert scenario_searches(pd.DataFrame(rows), {})["used"].tolist() == ["", "yes"], "not in the plan"
    both = pd.DataFrame(rows).assign(setting="model, federation.client_lr", value=["logistic, 0.02", "logistic, 1"])
    assert scenario_searches(both, own(clip))["used"].tolist() == ["yes", "when searched"]


def test_only_what_is_tried_changes() -> None:
    scenario = load_scenario(CONFIG / "scenarios.yaml", "smoke_cnn", REPO)
    changed = tried_scenario(scenario, {"federation.clip": None, "model": "cnn28_pooled"}, "grid")
    assert replace(changed, model=scenario.model, federation=scenario.federation) == scenario
    assert changed.federation == replace(scenario.federation, clip=None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scenario": "smok"}, r"scenario_searches\[0\].scenario: 'smok' is refused"),
        ({"grid": {}}, "at least one setting with its values"),
        ({"grid": {"federation.clip": []}}, "a list of at least one value"),
        ({"grid": {"federation.clip": [5.0, 5]}}, "each value once"),
        ({"grid": {"federation.clop": [5.0]}}, r"grid.federation.clop: 5.0 is refused.*did you mean clip\?"),
        ({"grid": {"federation.clip.x": [5.0]}}, "only the keys clients_per_round"),
        ({"grid": {"federation.clip": ["much", 5.0]}}, "'much' is refused; allowed: a number"),
        ({"grid": {"federation.clip": [1.0]}}, "the values of smoke_cnn itself among them"),
        ({"grid": {"federation.privacy": [None]}}, "noise belongs to a method"),
        ({"grid": {"federation.shards": [None]}}, "shards belong to a method"),
        ({"grid": {"model": ["cnn28", "cnn32"]}}, "'cnn32' is refused; allowed: logistic"),
        ({"grid": {"model": ["cnn28", "big"]}}, "'big' is refused; allowed: logistic"),
        ({"grid": {"partition.alpha": [1.0]}}, "only the keys model and federation.<key>"),
        ({"variant": "dp_smoke"}, "one without a search and a training of its own"),
        ({"variant": "nobody"}, "'nobody' is refused"),
        ({"first_seed": 1}, "seeds other than those reported"),
        ({"rounds": 0}, "rounds: 0 is refused"),
    ],
    ids=str,
)
def test_nonsense_is_refused_before_any_job(change: dict[str, Any], words: str) -> None:
    entry = {"scenario": "smoke_cnn", "grid": {"federation.clip": [None, 5.0]}} | change
    run = {"scenarios": ["smoke_cnn"], "variants": ["scratch"], "scenario_searches": [entry]}
    with pytest.raises(ConfigError, match=words):
        load_suite(run, CONFIG, {})


def test_a_search_is_there_once_and_one_of_another_scenario_is_passed_over() -> None:
    entry = {"scenario": "smoke_cnn", "grid": {"federation.clip": [None, 5.0]}}
    run = {"scenarios": ["smoke_cnn"], "variants": ["scratch"], "scenario_searches": [entry, entry]}
    with pytest.raises(ConfigError, match="one search for it in smoke_cnn"):
        load_suite(run, CONFIG, {})
    other = load_suite(run | {"scenarios": ["smoke"], "scenario_searches": [entry]}, CONFIG, {})
    assert other.scenario_searches == {}
    assert other.jobs["scenario_search"] == []


def test_the_command_takes_an_entry_of_the_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "smoke_cnn", "--block", "s050-050", "--results", str(tmp_path), "--config", str(CONFIG)]
    entry = {"scenario": "smoke_cnn", "grid": {"federation.clip": [None, 5.0]}, "first_seed": 50, "num_seeds": 1}
    assert main(["partition", *options]) == 0
    assert main(["scenario_search", "--search", json.dumps(entry | {"rounds": 1}), *options, "--device", "cpu"]) == 0
    path = tmp_path / "scenario_search" / "smoke_cnn" / "clip" / "s050-050" / "scenario_search.parquet"
    assert len(read_table(path, SCENARIO_SEARCH)) == 2
    assert main(["scenario_search", "--search", "{", *options]) == 2
    assert "--search: '{' is refused; allowed: JSON" in capsys.readouterr().err
