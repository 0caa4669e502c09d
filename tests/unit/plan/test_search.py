"""Searches in the configs: the grid, what is refused, what waits for a training, and equal budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.config.search import setting_name, trials
from sifu.errors import ConfigError
from sifu.plan.load import load_suite, read_yaml
from sifu.plan.targets import Targets
from tests.conftest import REPO


def test_a_grid_is_every_combination_in_its_order() -> None:
    grid = {"every": [1, 20], "calibration": [0.5, 1.0]}
    assert list(trials(grid)) == ["1, 0.5", "1, 1", "20, 0.5", "20, 1"]
    assert trials(grid)["20, 0.5"] == {"every": 20, "calibration": 0.5}
    assert list(trials({"a": [None, True, "x", 0.001]})) == ["null", "true", "x", "0.001"]
    assert setting_name(grid) == "every, calibration"


def load_with(tmp_path: Path, search: str, method: str = "dp_fedavg", **run: object) -> None:
    (tmp_path / "scenarios.yaml").write_text((REPO / "config" / "scenarios.yaml").read_text())
    (tmp_path / "variants.yaml").write_text(
        f"scratch: {{label: S, method: scratch}}\nx: {{label: X, method: {method}, search: {search}}}\n"
    )
    load_suite({"scenarios": ["smoke"], "variants": ["scratch", "x"], "num_seeds": 3} | run, tmp_path, {})


@pytest.mark.parametrize(
    ("search", "method", "words"),
    [
        ("{grid: {clip: [0.1]}, first_seed: 2}", "dp_fedavg", "seeds other than those reported"),
        ("{grid: {clip: [0.1]}, first_seed: 2, num_seeds: 1000}", "dp_fedavg", "seeds other than those reported"),
        ("{grid: {}}", "dp_fedavg", "at least one setting with its values"),
        ("{grid: {clip: []}}", "dp_fedavg", r"grid.clip: \[\] is refused; allowed: a list of at least one value"),
        ("{grid: {clip: 0.1}}", "dp_fedavg", "a list of at least one value"),
        ("{grid: {clip: [[0.1]]}}", "dp_fedavg", "numbers, names, true, false or null"),
        ("{grid: {clip: [1, 1.0]}}", "dp_fedavg", "grid.clip.*each value once"),
        ("{grid: {clop: [0.1]}}", "dp_fedavg", r"did you mean clip\?"),
        ("{grid: {clip: [-1.0]}}", "dp_fedavg", "clip: -1.0 is refused; allowed: above 0"),
        ("{grid: {every: [1.5]}}", "fed_eraser", "every: 1.5 is refused; allowed: a whole number"),
        ("{grid: {every: [2], calibration: [0.5, 2.0]}}", "fed_eraser", "calibration: 2.0 is refused"),
        ("{key: clip, values: [0.1]}", "dp_fedavg", "only the keys grid"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused_early(tmp_path: Path, search: str, method: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_with(tmp_path, search, method)


def test_only_a_search_of_recoveries_without_a_limit_waits_for_the_training() -> None:
    variants = ["scratch", "dp_smoke", "dp_accounted", "fed_eraser_searched"]
    raw = read_yaml(REPO / "config" / "smoke.yaml") | {"variants": variants}
    asked = Targets(load_suite(raw, REPO / "config", {}), Path("data"))
    found = {job.part: asked.inputs("search")(job)["search_training"] for job in asked.suite.jobs["search"]}
    assert found["dp_smoke"] == found["dp_accounted"] == []
    assert found["fed_eraser_searched"] == "results/smoke/train/smoke/s1000000-1000001/cells.parquet"


def test_the_papers_searches_have_equal_budgets(data_root: Path) -> None:
    """10 values, 2 seeds, twice the training's rounds; FedEraser's dt = 2 and r = 0.5 among them."""
    raw = read_yaml(REPO / "config" / "paper.yaml")
    suite = load_suite(raw, REPO / "config", {"SIFU_DATA_ROOT": str(data_root)})
    found = {name: variant.search for name, variant in suite.variants.items() if variant.search is not None}
    assert {"dp_released", "dp_accounted", "fed_eraser_searched", "fed_eraser_layers_searched"} <= set(found)
    assert len(found) >= 19, "the field's methods have one, too"
    for name, search in found.items():
        assert (len(trials(search.grid)), search.num_seeds, search.rounds) == (10, 2, None)
        assert "eraser" not in name or "2, 0.5" in trials(search.grid)
    budgets = {(s.name, len(trials(s.grid)), s.num_seeds, s.rounds) for s in suite.run.scenario_searches}
    assert budgets == {("clip", 8, 2, 2000)}
