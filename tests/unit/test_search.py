"""The search for a setting: what is chosen, what is stored, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sifu.__main__ import main
from sifu.config import load_scenario, load_suite
from sifu.errors import ConfigError, StoreError
from sifu.methods.dp_fedavg import DpFedAvg
from sifu.report.tables import searches, with_spent_epsilon
from sifu.run import Search, Variant, method_of
from sifu.schemas import CELLS, SEARCH
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.stages.search import best_value, chosen_value, run_search
from sifu.store import read_stamp, read_table
from tests.conftest import REPO


def trials(*rows: tuple[float, str, int, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["value", "status", "client_steps", "accuracy"])


def test_most_seeds_then_fewest_steps_then_accuracy() -> None:
    assert best_value(trials((0.1, "done", 90, 0.9), (0.2, "done", 80, 0.9), (0.5, "not_reached", 10, 0.95))) == 0.2
    both = trials((0.1, "done", 90, 0.9), (0.1, "done", 99, 0.9), (0.2, "done", 10, 0.9), (0.2, "diverged", 9, 0.0))
    assert best_value(both) == 0.1
    lost = trials((0.1, "not_reached", 90, 0.7), (0.2, "diverged", 3, 0.9))
    assert best_value(lost) == 0.1
    none = trials((0.1, "not_reached", 90, 0.7), (0.2, "not_reached", 90, 0.8), (0.5, "diverged", 3, 0.1))
    assert best_value(none) == 0.2


VARIANT = Variant(
    label="DP", method="dp_fedavg", search=Search(key="clip", values=(0.001, 0.2), rounds=6, num_seeds=2, first_seed=50)
)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("search")
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root)
    seeds = range(50, 52)
    run_partition("smoke", scenario, seeds, root, data_root=root)
    block = Block("smoke", scenario, seeds, root / "partition.parquet", root)
    assert VARIANT.search is not None
    methods = {value: method_of("dp", VARIANT, scenario, value) for value in VARIANT.search.values}
    run_search(block, "dp", VARIANT.search, methods, root)
    return root / "search.parquet"


def test_every_value_is_tried_with_the_same_budget_and_stored(searched: Path) -> None:
    table = read_table(searched, SEARCH)
    assert table[["value", "seed"]].apply(tuple, axis=1).tolist() == [(0.001, 50), (0.001, 51), (0.2, 50), (0.2, 51)]
    assert (table["rounds"] == 6).all()
    assert (table["client_steps"] == 6 * 10 * 5).all()
    assert table.groupby("value")["chosen"].all().to_dict() == {0.001: False, 0.2: True}
    means = table.groupby("value")["accuracy"].mean()
    assert means[0.2] > means[0.001]
    assert chosen_value(searched) == 0.2
    assert '"clip": 0.001' in read_stamp(searched)["settings"]


def test_what_was_searched_is_shown_to_people(searched: Path) -> None:
    shown = searches(read_table(searched, SEARCH), {"dp": "DP-FedAvg"})
    assert shown["chosen"].tolist() == ["", "yes"]
    assert shown["target met"].tolist() == ["0 of 2", "0 of 2"]


def test_a_table_without_a_choice_is_refused(searched: Path, tmp_path: Path) -> None:
    from sifu.provenance import provenance
    from sifu.store import write_table

    table = read_table(searched, SEARCH).assign(chosen=False)
    write_table(tmp_path / "search.parquet", SEARCH, table, provenance("search", {}, "0", "cpu"))
    with pytest.raises(StoreError, match="which one value was chosen"):
        chosen_value(tmp_path / "search.parquet")


def test_the_value_that_was_found_is_used() -> None:
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", REPO)
    method = method_of("dp", VARIANT, scenario, 0.2)
    assert isinstance(method, DpFedAvg)
    assert method.clip == 0.2


def load_with(tmp_path: Path, search: str, method: str = "dp_fedavg", **run: object) -> None:
    (tmp_path / "scenarios.yaml").write_text((REPO / "config" / "scenarios.yaml").read_text())
    (tmp_path / "variants.yaml").write_text(
        f"scratch: {{label: S, method: scratch}}\nx: {{label: X, method: {method}, search: {search}}}\n"
    )
    load_suite({"scenarios": ["smoke"], "variants": ["scratch", "x"], "num_seeds": 3} | run, tmp_path, {})


@pytest.mark.parametrize(
    ("search", "method", "words"),
    [
        ("{key: clip, values: [0.1], first_seed: 2}", "dp_fedavg", "seeds other than those reported"),
        ("{key: clip, values: []}", "dp_fedavg", "at least one value"),
        ("{key: clop, values: [0.1]}", "dp_fedavg", r"did you mean clip\?"),
        ("{key: clip, values: [-1.0]}", "dp_fedavg", "clip: -1.0 is refused; allowed: above 0"),
        ("{key: calibration, values: [0.5]}", "fed_eraser", "only for a method with a training of its own"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused_early(tmp_path: Path, search: str, method: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_with(tmp_path, search, method)


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


def test_labels_say_what_is_spent_where_it_is_more_than_claimed() -> None:
    row = dict.fromkeys((column.name for column in CELLS.columns), None)
    cells = pd.DataFrame(
        [
            row
            | {
                "scenario": "s",
                "variant": v,
                "stop": "target",
                "request": 1,
                "claimed_epsilon": 10.0,
                "spent_epsilon": spent,
            }
            for v, spent in (("a", 9.99), ("b", 1234.5), ("c", None))
        ]
    )
    found = with_spent_epsilon({"a": "A", "b": "B", "c": "C"}, cells)
    assert found == {"a": "A", "b": "B (spends epsilon 1,234)", "c": "C"}


def test_a_search_ends_with_the_rounds_that_are_paid_for(searched: Path, tmp_path: Path) -> None:
    """An accounted training of at most 4 rounds is not searched with 6."""
    variant = replace(VARIANT, settings={"mode": "accounted", "rounds": 8})
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", tmp_path)
    block = Block("smoke", scenario, range(50, 52), searched.with_name("partition.parquet"), tmp_path)
    assert variant.search is not None
    run_search(block, "dp", variant.search, {0.1: method_of("dp", variant, scenario, 0.1)}, tmp_path)
    assert set(read_table(tmp_path / "search.parquet", SEARCH)["rounds"]) == {4}
