"""Verification by triggers, the sigma sweep and the request sets, stage by stage on the backdoor smoke scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from sifu.cli.main import main
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.methods.fine_tuning import FineTuning
from sifu.plan.load import load_scenario
from sifu.plan.variants import build_method
from sifu.report.deletion_test import verdicts
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.stages.request_sets import Trained, run_request_sets
from sifu.stages.setting_sweep import run_setting_sweep
from sifu.stages.sweep import run_sweep
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.stages.verify import run_verify
from sifu.store.experiment_schemas import REQUEST_SETS, SETTING_SWEEP, SWEEP
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS, CURVES, VERIFICATION
from sifu.unlearning.method_types import History, Request, Segment, Server
from sifu.unlearning.request import draw_requests, draw_sets
from tests.conftest import REPO

SEEDS, NAMES = range(2), ("original", "scratch", "fine_tuning", "sifu")


@dataclass(frozen=True)
class Made:
    root: Path
    scenario: Scenario
    block: Block

    @property
    def short(self) -> Block:
        """Recoveries of a few rounds, for tests that compare two ways to the same numbers."""
        stop = replace(self.scenario.stop, min_rounds=2, max_rounds=12)
        return replace(self.block, scenario=replace(self.scenario, stop=stop))

    @property
    def history(self) -> Path:
        return self.root / "train" / "history.safetensors"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("made")
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke_backdoor", root)
    run_partition("smoke_backdoor", scenario, SEEDS, root, data_root=root)
    block = Block("smoke_backdoor", scenario, SEEDS, root / "partition.parquet", root)
    made = Made(root, scenario, block)
    run_train(block, root / "train")
    for name in NAMES:
        method = build_method(name, {}, scenario.certificate)
        training = root / "train" / "cells.parquet"
        run_unlearn(block, name, method, root / name, history=made.history, training=training)
    run_verify(block, root, variants={name: root / name / "weights.safetensors" for name in NAMES})
    return made


@pytest.fixture(scope="module")
def checks(made: Made) -> pd.DataFrame:
    return read_table(made.root / "verification.parquet", VERIFICATION)


def test_every_client_that_has_left_checks_after_every_request(made: Made, checks: pd.DataFrame) -> None:
    """Two requests of four clients: four rows, then eight."""
    sizes = checks.groupby(["variant", "seed", "request"]).size()
    assert sizes.xs(1, level="request").unique().tolist() == [4]
    assert sizes.xs(2, level="request").unique().tolist() == [8]
    clients = draw_requests(made.scenario, Keys.of(SEEDS))
    for seed in SEEDS:
        rows = checks[(checks["variant"] == "sifu") & (checks["seed"] == seed) & (checks["request"] == 2)]
        for number, mask in enumerate(clients, start=1):
            left = rows.loc[rows["left_at"] == number, "client"]
            assert sorted(left) == mask[seed].nonzero().flatten().tolist()


def test_original_and_scratch_are_told_apart(checks: pd.DataFrame) -> None:
    """Every client that was not forgotten says so; nobody accuses scratch; the rates are far apart."""
    by = checks.groupby("variant")
    assert by["accused"].mean()["original"] == 1.0
    assert by["accused"].mean()["scratch"] == 0.0
    rate = (checks["successes"] / checks["examples"]).groupby(checks["variant"]).mean()
    assert rate["original"] > 0.5
    assert rate["scratch"] < 0.25
    assert checks["type_1"].max() <= 0.001
    assert by["type_2"].mean()["original"] < 0.05
    assert by["type_2"].mean()["scratch"] > 0.95
    assert rate["scratch"] <= rate["fine_tuning"]


def test_the_chance_is_an_upper_limit_of_scratchs_rate(checks: pd.DataFrame) -> None:
    scratch = checks[checks["variant"] == "scratch"].groupby(["seed", "request"])
    rate = scratch["successes"].sum() / scratch["examples"].sum()
    assert (scratch["chance"].first() > rate).all()
    for variant in NAMES:
        other = checks[checks["variant"] == variant].groupby(["seed", "request"])["chance"].first()
        assert np.allclose(other, scratch["chance"].first())


def test_without_a_backdoor_there_is_nothing_to_verify(made: Made, tmp_path: Path) -> None:
    plain = replace(made.block, scenario=replace(made.scenario, backdoor=None))
    run_verify(plain, tmp_path, variants={name: made.root / name / "weights.safetensors" for name in NAMES})
    assert len(read_table(tmp_path / "verification.parquet", VERIFICATION)) == 0


def test_a_sweep_ends_at_its_limits(made: Made, tmp_path: Path) -> None:
    """sigma = 0.05 is the scenario's own; with hardly any noise SIFU goes back to the start."""
    certificates = {sigma: replace(made.scenario.certificate, sigma=sigma) for sigma in (1e-9, 0.05)}
    methods = {sigma: build_method("sifu", {}, certificate) for sigma, certificate in certificates.items()}
    run_sweep(made.block, "sifu", methods, tmp_path, history=made.history)
    rows = read_table(tmp_path / "sweep.parquet", SWEEP)
    assert rows.groupby("sigma").size().tolist() == [4, 4]
    assert (rows.loc[rows["sigma"] == 1e-9, "cut_round"] <= 2).all()
    own = rows[rows["sigma"] == 0.05].set_index(["seed", "request"])
    cells = (
        read_table(made.root / "sifu" / "cells.parquet", CELLS).query("stop == 'target'").set_index(["seed", "request"])
    )
    assert (own["rounds"] == cells["rounds"]).all()
    assert (own["cut_round"] == cells["cut_round"]).all()
    assert own["retain_accuracy"].between(0, 1).all()


def test_the_first_requests_alone_are_the_same_rows(made: Made, tmp_path: Path) -> None:
    method = build_method("sifu", {}, made.scenario.certificate)
    for folder, requests in ((tmp_path / "all", None), (tmp_path / "many", 9), (tmp_path / "first", 1)):
        run_sweep(made.short, "sifu", {0.05: method}, folder, history=made.history, requests=requests)
    whole, many, first = (read_table(tmp_path / way / "sweep.parquet", SWEEP) for way in ("all", "many", "first"))
    pd.testing.assert_frame_equal(whole, many, check_exact=True)
    same = whole[whole["request"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, first, check_exact=True)


def swept_puf(made: Made, block: Block, folder: Path, factors: tuple[float, ...]) -> pd.DataFrame:
    methods = {factor: build_method("puf", {"factor": factor}, made.scenario.certificate) for factor in factors}
    run_setting_sweep(block, "puf", "factor", methods, folder, history=made.history)
    return read_table(folder / "setting_sweep.parquet", SETTING_SWEEP)


def test_a_setting_is_swept_before_and_after_the_recovery(made: Made, tmp_path: Path) -> None:
    """What the recovery starts from is evaluated again, with the plain loop; its end is in the method's own cells."""
    rows = swept_puf(made, made.block, tmp_path / "sweep", (0.5, 2.0))
    assert rows.groupby("value")["seed"].apply(list).to_dict() == {0.5: [0, 1], 2.0: [0, 1]}
    method = build_method("puf", {"factor": 2.0}, made.scenario.certificate)
    run_unlearn(
        made.block,
        "puf",
        method,
        tmp_path / "puf",
        history=made.history,
        training=made.root / "train" / "cells.parquet",
    )
    cells = read_table(tmp_path / "puf" / "cells.parquet", CELLS).query("stop == 'target' and request == 1")
    own = rows[rows["value"] == 2.0]
    for column in ("status", "rounds", "client_steps", "server_steps"):
        assert own[column].tolist() == cells[column].tolist()
    curves = read_table(tmp_path / "puf" / "curves.parquet", CURVES).query("stop == 'target' and request == 1")
    for column in ("retain_accuracy", "forget_accuracy"):
        first, last = (curves.groupby("seed")[column].nth(place).to_numpy() for place in (0, -1))
        assert own[f"start_{column}"].to_numpy() == pytest.approx(first, abs=1e-12)
        assert own[column].to_numpy() == pytest.approx(last, abs=1e-12)
    assert set(rows["setting"]) == {"factor"}
    less = rows[rows["value"] == 0.5]["start_forget_accuracy"].to_numpy()
    assert (own["start_forget_accuracy"].to_numpy() < less).all(), "a larger step away from what they taught"


def test_each_value_of_a_setting_alone_is_the_same_rows(made: Made, tmp_path: Path) -> None:
    both = swept_puf(made, made.short, tmp_path / "both", (0.5, 2.0))
    one = swept_puf(made, replace(made.short, seeds=range(1)), tmp_path / "one", (2.0,))
    same = both[(both["value"] == 2.0) & (both["seed"] == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, one, check_exact=True)


def test_a_start_that_is_no_model_knows_nothing(made: Made, tmp_path: Path) -> None:
    class Infinite(FineTuning):
        def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
            return server.recover(history.current * math.inf, keys)

    run_setting_sweep(made.short, "infinite", "factor", {1.0: Infinite()}, tmp_path, history=made.history)
    rows = read_table(tmp_path / "setting_sweep.parquet", SETTING_SWEEP)
    assert rows["start_forget_accuracy"].isna().all()
    assert rows["start_retain_accuracy"].isna().all()
    assert set(rows["status"]) == {"diverged"}


@pytest.mark.second
@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.long)])
def test_packed_tables_are_the_same(made: Made, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """sigma values, and methods and sets that share a training, in one batch: as one after another, to the last bit."""
    sigmas = {sigma: replace(made.scenario.certificate, sigma=sigma) for sigma in (0.001, 0.05, 1.0)}
    methods = {sigma: build_method("sifu", {}, certificate) for sigma, certificate in sigmas.items()}
    names = ("scratch", "sifu", "fed_eraser")
    trained = {
        name: Trained(build_method(name, {}, made.scenario.certificate), made.scenario, made.history) for name in names
    }
    for folder, packed in ((tmp_path / "alone", 1), (tmp_path / "packed", size)):
        monkeypatch.setattr(Block, "pack_size", lambda block, packed=packed: packed)
        run_sweep(made.short, "sifu", methods, folder, history=made.history)
        run_request_sets(made.short, 2, trained, folder)
    for file, table in (("sweep.parquet", SWEEP), ("request_sets.parquet", REQUEST_SETS)):
        alone, packed_rows = (read_table(tmp_path / way / file, table) for way in ("alone", "packed"))
        pd.testing.assert_frame_equal(alone, packed_rows, check_exact=True)


@pytest.mark.second
def test_the_first_seeds_alone_are_the_same_rows(made: Made, tmp_path: Path) -> None:
    method = build_method("sifu", {}, made.scenario.certificate)
    trained = {"sifu": Trained(method, made.scenario, made.history)}
    for folder, seeds in ((tmp_path / "all", SEEDS), (tmp_path / "first", range(1))):
        block = replace(made.short, seeds=seeds)
        run_sweep(block, "sifu", {0.05: method}, folder, history=made.history)
        run_request_sets(block, 2, trained, folder)
    for file, table in (("sweep.parquet", SWEEP), ("request_sets.parquet", REQUEST_SETS)):
        whole, first = (read_table(tmp_path / way / file, table) for way in ("all", "first"))
        assert set(first["seed"]) == {0}
        same = whole[whole["seed"] == 0].reset_index(drop=True)
        pd.testing.assert_frame_equal(same, first, check_exact=True)


def test_request_sets_are_different_clients(made: Made, tmp_path: Path) -> None:
    variants = {
        name: Trained(build_method(name, {}, made.scenario.certificate), made.scenario, made.history)
        for name in ("scratch", "fine_tuning")
    }
    run_request_sets(made.block, 3, variants, tmp_path)
    rows = read_table(tmp_path / "request_sets.parquet", REQUEST_SETS)
    assert rows.groupby(["variant", "set"]).size().unique().tolist() == [2]
    assert rows["rounds"].min() > 0
    sets = draw_sets(made.scenario, Keys.of(SEEDS), 3)
    assert all((mask.sum(1) == 4).all() for mask in sets)
    assert not torch.equal(sets[0], sets[1])
    by_class = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", made.root)
    classes = draw_sets(by_class, Keys.of(SEEDS), 12)
    assert len(classes) == 10
    assert classes[3][0].nonzero().flatten().tolist() == [3, 13]


def test_the_commands_write_their_tables(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "smoke_backdoor", "--block", "s000-001", "--results", str(tmp_path)]
    options += ["--config", str(REPO / "config"), "--device", "cpu"]
    for stage, folder in (("partition", made.root), ("train", made.root / "train")):
        target = tmp_path / stage / "smoke_backdoor" / "s000-001"
        target.parent.mkdir(parents=True)
        target.symlink_to(folder)
    assert (
        main(["sweep", "--variant", "sifu", "--sigmas", "0.05", "9.0", "--rounds", "3", "--requests", "1", *options])
        == 0
    )
    assert main(["request_sets", "--variants", "scratch", "--count", "1", *options]) == 0
    setting = ["setting_sweep", "--setting", "factor", "--values", "1", "2", "--rounds", "3", "--seeds-end", "1"]
    assert main([*setting, "--variant", "puf", *options]) == 0
    folder = tmp_path / "setting_sweep" / "smoke_backdoor" / "puf" / "s000-001"
    tried = read_table(folder / "setting_sweep.parquet", SETTING_SWEEP)
    assert tried[["value", "seed"]].to_numpy().tolist() == [[1.0, 0.0], [2.0, 0.0]]
    swept = read_table(tmp_path / "sweep" / "smoke_backdoor" / "sifu" / "s000-001" / "sweep.parquet", SWEEP)
    assert set(swept.loc[swept["status"] == "not_reached", "rounds"]) == {3}  # such noise is not undone in 3 rounds
    assert set(swept["request"]) == {1}
    assert (tmp_path / "request_sets" / "smoke_backdoor" / "s000-001" / "request_sets.parquet").exists()
    capsys.readouterr()
    assert main(["sweep", "--variant", "dp_released", "--sigmas", "0.05", *options]) == 2
    assert "starts from the scenario's own training" in capsys.readouterr().err
    assert main(["setting_sweep", "--variant", "fats_1", "--setting", "rho", "--values", "1", *options]) == 2
    assert "starts from the scenario's own training" in capsys.readouterr().err
    assert main(["setting_sweep", "--variant", "puf", "--setting", "fator", "--values", "1", *options]) == 2
    assert "did you mean factor" in capsys.readouterr().err
    assert main(["sweep", "--variant", "sifu", "--sigmas", "0.05", "--requests", "0", *options]) == 2
    assert "--requests: 0 is refused" in capsys.readouterr().err


def test_together_the_clients_of_a_request_are_certain(checks: pd.DataFrame) -> None:
    found = verdicts(checks)
    assert found["type_1"].max() <= 0.001
    original, scratch = (found[found["variant"] == name] for name in ("original", "scratch"))
    assert original["together"].all()
    assert original["together_type_2"].max() < 1e-6
    assert scratch["accuse"].sum() == scratch["together"].sum() == 0
