"""From a trained block to metrics, stage by stage, on the smoke scenario; and a new method on that way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sifu.plan.variants import build_method
from sifu.stages.block import Block
from sifu.stages.unlearn import run_unlearn
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import read_stamp, read_table
from sifu.store.schemas import CELLS, CURVES, METRICS
from sifu.store.tensors import read_weights
from tests.unit.stages.smoke_results import LABELS, SEEDS, Ran, smoke_results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return smoke_results(tmp_path_factory)


def test_every_planned_cell_has_a_row(results: Ran) -> None:
    for variant in LABELS:
        cells = results.table("unlearn", "cells", CELLS, variant)
        planned = {(stop, seed, request) for stop in ("target", "budget_50") for seed in SEEDS for request in (1, 2, 3)}
        assert set(cells[["stop", "seed", "request"]].itertuples(index=False, name=None)) == planned
        expected = {"refused"} if variant == "refusing" else {"done", "not_reached"}
        assert set(cells["status"]) <= expected


def test_budgets_are_kept(results: Ran) -> None:
    """Half of the training's client steps, whole rounds of 10 clients x 5 steps."""
    training = results.table("train", "cells", CELLS).set_index("seed")["client_steps"]
    for variant in ("scratch", "sifu", "dummy"):
        cells = results.table("unlearn", "cells", CELLS, variant)
        limited = cells[cells["stop"] == "budget_50"]
        allowed = limited["seed"].map(training) * 0.5
        assert (limited["client_steps"] <= allowed).all()
        assert (limited["client_steps"] > allowed - 50).all()


def test_a_budget_may_end_at_the_target(results: Ran, tmp_path: Path) -> None:
    """Fine-tuning meets the target within nine tenths of the training's steps, and not within a tenth of them."""
    stop = replace(results.scenario.stop, budget_ends="target", min_rounds=2)
    scenario = replace(results.scenario, stop=stop, budgets=(0.1, 0.9))
    block = Block("smoke", scenario, SEEDS, results.folder("partition") / "partition.parquet", results.root)
    files = {"history": "history.safetensors", "training": "cells.parquet"}
    paths = {name: results.folder("train") / file for name, file in files.items()}
    run_unlearn(block, "fine_tuning", build_method("fine_tuning", {}, scenario.certificate), tmp_path, **paths)
    cells = read_table(tmp_path / "cells.parquet", CELLS).query("request == 1").set_index(["stop", "seed"])
    rounds, target = cells["rounds"], cells.loc["target", "rounds"]
    assert (cells["status"] == "done").all()
    assert (rounds["budget_90"] == target).all()
    assert (rounds["budget_10"] < target).all()


def test_a_method_may_count_rounds_in_its_own_way(results: Ran, tmp_path: Path) -> None:
    """FedEraser as released: r / dt = 2 / (2 x 5) of every past round; one round in two is calibrated in fact."""
    method = build_method("fed_eraser_released", {}, results.scenario.certificate)
    block = Block("smoke", results.scenario, SEEDS, results.folder("partition") / "partition.parquet", results.root)
    paths = {"history": "history.safetensors", "training": "cells.parquet"}
    files = {name: results.folder("train") / file for name, file in paths.items()}
    run_unlearn(block, "fed_eraser_released", method, tmp_path, **files)
    cells = read_table(tmp_path / "cells.parquet", CELLS).query("stop == 'target' and request == 1").set_index("seed")
    trained = results.table("train", "cells", CELLS).set_index("seed")
    assert (trained["counted_rounds"] == trained["rounds"]).all()
    calibrated = -(-trained["rounds"] // 2)
    assert (cells["rounds"] - calibrated == cells["counted_rounds"] - trained["rounds"] // 5).all()


def test_a_training_says_how_many_images_there_were(results: Ran) -> None:
    words = "Only a part of some datasets was used. MNIST: 5,000 of 60,000 training and 0 of 10,000 test images"
    assert words in (results.root / "report" / "report.html").read_text()
    notes = json.loads(read_stamp(results.folder("train") / "cells.parquet")["notes"])
    assert notes["images"] == {"train": 5000, "test": 0}


def test_metrics_are_what_the_weights_say(results: Ran) -> None:
    metrics = results.table("verify", "metrics", METRICS)
    key = ["variant", "stop", "seed", "request", "metric", "subset"]
    value = metrics.set_index(key)["value"]
    curves = results.table("unlearn", "curves", CURVES, "sifu")
    last = curves.sort_values("round").groupby(["stop", "seed", "request"]).last()
    for (stop, seed, request), row in last.iterrows():  # the engine's last evaluation saw the same model
        assert value["sifu", stop, seed, request, "accuracy", "retain"] == pytest.approx(row["retain_accuracy"])
        assert value["sifu", stop, seed, request, "accuracy", "forgotten"] == pytest.approx(row["forget_accuracy"])
    own, reference = (value[name, "target", 1, 2, "accuracy", "forget"] for name in ("dummy", "scratch"))
    assert value["dummy", "target", 1, 2, "gap_to_scratch", "forget"] == pytest.approx(abs(own - reference))
    same = value["scratch"].xs("gap_to_scratch_same_stop", level="metric")
    assert (same == 0).all()
    spread = value.xs("client_std", level="metric")
    assert ((spread >= 0) & (spread <= 0.5)).all()


def test_scratch_has_forgotten_the_class(results: Ran) -> None:
    metrics = results.table("verify", "metrics", METRICS)
    rows = metrics.query("variant == 'scratch' and stop == 'target' and metric == 'accuracy' and subset == 'forgotten'")
    assert rows["value"].max() == 0.0


def test_alpha_starts_at_zero_beside_its_bounds(results: Ran) -> None:
    alpha = results.table("alpha", "alpha", ALPHA)
    rounds = results.table("train", "cells", CELLS).set_index("seed")["rounds"]
    assert alpha.groupby("seed")["client"].nunique().tolist() == [4, 4]  # three clients, and the first request
    assert (alpha.groupby("seed")["round"].max() == rounds).all()
    start = alpha[alpha["round"] == 0]
    assert (start[["alpha", "psi_published", "psi_strict"]] == 0).all().all()
    assert alpha["alpha"].max() > 0
    alone = alpha[(alpha["psi_published"] > 0) & (alpha["request"] == 0)]
    # 20 equal clients, cohorts of 10: odds 1/19 by share, 1/9 in the cohort
    assert np.allclose(alone["psi_empty_seats"] / alone["psi_published"], 19 / 9)
    assert (alone["psi_strict"] != alone["psi_empty_seats"]).any()
    assert (alpha["psi_released"] == alpha["psi_published"]).all()


def test_weights_are_those_of_every_stop_and_request(results: Ran) -> None:
    tensors = read_weights(results.folder("unlearn", "sifu") / "weights.safetensors")
    assert len(tensors) == 1 + 2 * 2 * 3  # the original; weights and clients, two stop rules, three requests
    assert tensors["target/1/weights"].shape == (2, 7850)
    assert tensors["target/1/forget"][0].nonzero().flatten().tolist() == [0, 10]
    assert all(tensor.isfinite().all() for tensor in tensors.values() if tensor.dtype == torch.float32)
