"""alpha against Psi under changed federations: the same measurement, on trainings that need not converge."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from sifu.certificate.alpha import measure_alpha
from sifu.cli.main import main
from sifu.config.changed_scenario import changed_scenario
from sifu.plan.load import load_scenario
from sifu.plan.report_plan import ReportPlan
from sifu.report.bounds import bounds_that_hold, rules_that_differ, share_held
from sifu.report.figures import alpha as alpha_figure
from sifu.report.results import Results
from sifu.stages.alpha import run_alpha
from sifu.stages.alpha_sweep import run_alpha_sweep
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.stages.train import run_train
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import read_table
from tests.conftest import REPO

SCENARIOS = REPO / "config" / "scenarios.yaml"


def block_of(root: Path, name: str = "smoke") -> Block:
    scenario = load_scenario(SCENARIOS, name, root)
    run_partition(name, scenario, range(2), root, data_root=root)
    return Block(name, scenario, range(2), root / "partition.parquet", root)


def swept(block: Block, folder: Path, rounds: int | None = None, **change: Any) -> pd.DataFrame:
    """The table of a change."""
    changed = changed_scenario(block.scenario, change, rounds, "change")
    run_alpha_sweep(replace(block, scenario=changed), "other", folder)
    return read_table(folder / "alpha.parquet", ALPHA)


@pytest.mark.second
def test_a_change_that_changes_nothing_measures_the_same(tmp_path: Path) -> None:
    """`smoke` with its own momentum of 0.9: the rows of stage `alpha` to the bit; with fewer rounds, the first."""
    block = block_of(tmp_path)
    run_train(block, tmp_path / "train")
    run_alpha(block, tmp_path, history=tmp_path / "train" / "history.safetensors")
    own = read_table(tmp_path / "alpha.parquet", ALPHA)
    assert set(own["change"]) == {""}
    rows = swept(block, tmp_path / "same", momentum=0.9)
    assert set(rows["change"]) == {"other"}
    pd.testing.assert_frame_equal(rows.drop(columns="change"), own.drop(columns="change"))
    short = swept(block, tmp_path / "short", rounds=7, momentum=0.9)
    pd.testing.assert_frame_equal(short, rows[rows["round"] <= 7].reset_index(drop=True))


def test_a_run_without_clients_that_diverges_alone_is_beyond_any_psi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points from round 3 on are kept with an infinite alpha, and count against Psi."""
    block = block_of(tmp_path)

    def diverging(*args: Any) -> torch.Tensor:
        alpha = measure_alpha(*args)
        alpha[:, 3:] = math.nan
        return alpha

    whole = swept(block, tmp_path / "whole", rounds=5, momentum=0.0)
    monkeypatch.setattr("sifu.stages.alpha.measure_alpha", diverging)
    rows = swept(block, tmp_path / "diverging", rounds=5, momentum=0.0)
    assert len(rows) == len(whole)
    assert (rows["alpha"] == math.inf).equals(rows["round"] >= 3)
    assert share_held(rows[rows["round"] >= 3], "strict") == 0


def test_where_the_theorem_holds_every_point_does(tmp_path: Path) -> None:
    """A convex loss, one step of full batches (20 of 20 examples), no momentum, a small step: alpha <= strict Psi."""
    full = {"momentum": 0.0, "local_steps": 1, "batch_size": 20, "client_lr": 0.002}
    rows = swept(block_of(tmp_path), tmp_path, 20, **full)
    measured = rows[rows["alpha"] > 0]
    assert len(measured) > 20
    assert share_held(measured, "strict") == 1.0
    table = bounds_that_hold(rows, {"other": "Other"})
    assert table[["settings", "left out", "rule"]].to_numpy().tolist() == [
        ["Other", whom, rule] for whom in ("one client", "request 1") for rule in ("published", "strict", "empty seats")
    ]
    assert (table.loc[table["rule"] == "strict", "alpha <= Psi"] == "100.0%").all()


def test_a_training_that_diverges_has_rows_as_far_as_it_came(tmp_path: Path) -> None:
    """A network whose step is a million times too long is not finite after a few of the 8 rounds."""
    rows = swept(block_of(tmp_path, "smoke_cnn"), tmp_path, client_lr=2e4, clip=None)
    assert rows["round"].min() == 0
    assert rows.groupby("seed")["round"].max().max() < 8
    numbers = rows[["alpha", "psi_published", "psi_released", "psi_strict"]]
    assert numbers.abs().to_numpy().max() < float("inf")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "smoke", "--block", "s000-000", "--config", str(SCENARIOS.parent)]
    options += ["--results", str(tmp_path)]
    assert main(["partition", *options]) == 0
    start = ["alpha_sweep", "--name", "plain_sgd", "--rounds", "5", "--device", "cpu"]
    assert main([*start, "--change", '{"momentum": 0.0}', *options]) == 0
    rows = read_table(tmp_path / "alpha_sweep" / "smoke" / "plain_sgd" / "s000-000" / "alpha.parquet", ALPHA)
    assert rows["round"].max() == 5
    assert "alpha smoke plain_sgd: round 5" in capsys.readouterr().err
    for change, words in (('{"x": 1}', "change.x: 1 is refused"), ("{", "--change: '{' is refused; allowed: JSON")):
        assert main([*start, "--change", change, *options]) == 2
        assert words in capsys.readouterr().err


def test_rules_are_shown_where_they_differ() -> None:
    rows = pd.DataFrame({"alpha": [1.0, 2.0], "psi_published": [1.0, 1.0], "psi_released": [1.0, 1.0]})
    rows = rows.assign(psi_strict=2.0, psi_empty_seats=0.5)
    assert rules_that_differ(rows) == ["published", "strict", "empty_seats"]
    assert rules_that_differ(rows.assign(psi_released=[0.5, 1.0])) == ["published", "released", "strict", "empty_seats"]
    assert share_held(rows, "published") == 0.5
    assert share_held(rows, "strict") == 1.0


def test_the_figure_has_a_map_a_rule_and_one_example() -> None:
    """Two scenarios, of which one has a change: a is in the maps. Half of the points of b hold, by each rule."""
    columns = [
        "scenario",
        "change",
        "request",
        "alpha",
        "psi_published",
        "psi_released",
        "psi_strict",
        "psi_empty_seats",
    ]
    rows = [("a", "", 0, 1.0, 2.0), ("a", "x", 0, 1.0, 0.5), ("b", "", 0, 1.0, 2.0), ("b", "", 0, 2.0, 1.0)]
    source = Results(ReportPlan("", {"a": "A", "b": "B"}, changes={"x": "X"}))
    source.__dict__["alpha"] = pd.DataFrame([[*row[:4], *[row[4]] * 4] for row in rows], columns=columns)
    axes = alpha_figure.draw(source).axes
    assert [axis.get_title().partition(":")[0] for axis in axes] == [
        "Psi, published",
        "Psi, strict",
        "Psi, empty seats",
        "their own settings",
        "example",
    ]
    assert [text.get_text() for text in axes[0].texts] == ["100%", "0%"]
    assert [text.get_text() for text in axes[3].texts] == ["50%", "50%", "50%"]
    assert "A, its own settings" in axes[4].get_title()
