"""From a trained block to a report, stage by stage, on the smoke scenario; and a new method on that way."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from sifu.catalog.methods import METHODS
from sifu.config.fields import settings, to_plain
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.methods.fine_tuning import FineTuning
from sifu.plan.load import load_scenario
from sifu.plan.report_plan import Job, ReportPlan
from sifu.plan.variants import build_method
from sifu.report.figures import lineage as lineage_figure
from sifu.report.figures import requests
from sifu.report.figures.lineage import lineage
from sifu.report.findings import findings
from sifu.report.results import Results
from sifu.report.statistics import bootstrap_intervals
from sifu.stages.alpha import run_alpha
from sifu.stages.block import Block
from sifu.stages.figure import run_figure
from sifu.stages.null_space import run_null_space
from sifu.stages.page import run_page
from sifu.stages.partition import run_partition
from sifu.stages.report import run_report
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.stages.verify import run_verify
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import read_stamp, read_table
from sifu.store.report_schemas import CERTIFICATES, STATISTICS
from sifu.store.schemas import CELLS, CURVES, METRICS
from sifu.store.tensors import read_weights
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.conftest import REPO

BLOCK, SEEDS = "s000-001", range(2)
LABELS = {"scratch": "Scratch", "sifu": "SIFU", "dummy": "Dummy", "refusing": "Refusing"}


@settings
class Dummy(FineTuning):
    """Halve the weights, then train on: 10 lines, and it is in every table and figure."""

    name = "dummy"

    def unlearn(self, history: Lineage, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(history.current / 2, keys), history.end)


@settings
class Refusing(FineTuning):
    """A method that does not apply here."""

    name = "refusing"

    def unlearn(self, history: Lineage, request: Request, server: Server, keys: Keys) -> Unlearned:
        raise MethodRefused("it needs a strongly convex loss")


@dataclass(frozen=True)
class Ran:
    root: Path
    scenario: Scenario

    def folder(self, stage: str, variant: str = "") -> Path:
        return self.root / stage / "smoke" / variant / BLOCK

    def table(self, stage: str, name: str, schema: object, variant: str = "") -> pd.DataFrame:
        return read_table(self.folder(stage, variant) / f"{name}.parquet", schema)  # type: ignore[arg-type]


def plan_of(root: Path) -> ReportPlan:
    return ReportPlan(
        results=str(root),
        titles={"smoke": "Smoke"},
        labels=LABELS,
        methods={"scratch": "scratch", "sifu": "sifu", "dummy": "fine_tuning", "refusing": "fine_tuning"},
        shown=list(LABELS),
        variants={"smoke": list(LABELS)},
        marks={"smoke": "plain"},
        settings={"smoke": to_plain(load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root))},
        jobs={stage: [Job("smoke", BLOCK)] for stage in ("train", "verify", "alpha")}
        | {"unlearn": [Job("smoke", BLOCK, variant) for variant in LABELS], "null_space": [Job()]},
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = tmp_path_factory.mktemp("results")
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root)
    made = Ran(root, scenario)
    run_partition("smoke", scenario, SEEDS, made.folder("partition"), data_root=root)
    block = Block("smoke", scenario, SEEDS, made.folder("partition") / "partition.parquet", root)
    run_train(block, made.folder("train"))
    history = made.folder("train") / "history.safetensors"
    training = made.folder("train") / "cells.parquet"
    methods: dict[str, Method] = {"dummy": Dummy(), "refusing": Refusing()}
    methods |= {name: build_method(name, {}, scenario.certificate) for name in ("scratch", "sifu")}
    with pytest.MonkeyPatch.context() as patch:
        for added in (Dummy, Refusing):  # the one line that registers a method
            patch.setitem(METHODS, added.name, "sifu.methods.fine_tuning:FineTuning")
        for name in LABELS:
            run_unlearn(block, name, methods[name], made.folder("unlearn", name), history=history, training=training)
    weights = {name: made.folder("unlearn", name) / "weights.safetensors" for name in LABELS}
    run_verify(block, made.folder("verify"), variants=weights)
    run_alpha(block, made.folder("alpha"), history=history)
    run_null_space(root / "null_space")
    run_report(plan_of(root), root / "report")
    for name in plan_of(root).figures:
        run_figure(plan_of(root), name, root / "report")
    run_page(plan_of(root), root / "report", "make")
    return made


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


def test_the_report_shows_every_method_and_says_what_is_missing(results: Ran) -> None:
    report = results.root / "report"
    statistics = read_table(report / "tables" / "statistics.parquet", STATISTICS)
    assert set(statistics["variant"]) == set(LABELS)
    assert (statistics["low"] <= statistics["mean"] + 1e-12).all()
    assert (statistics["mean"] <= statistics["high"] + 1e-12).all()
    headline = (report / "tables" / "headline.md").read_text()
    assert "| smoke | Dummy | 1 |" in headline
    assert "| smoke | Refusing | 1 | refused | - | - | - | - | - | - | - | - |" in headline
    assert "| smoke | its own | one client | published |" in (report / "tables" / "bounds.md").read_text()
    assert "| smoke | SIFU | 1 | 10 | 0.01 | claimed | 2.86 |" in (report / "tables" / "certificates.md").read_text()
    assert set(read_table(report / "tables" / "certificates.parquet", CERTIFICATES)["variant"]) <= set(LABELS)
    assert "| `fed_eraser` |" in (report / "tables" / "methods.md").read_text()
    assert "fed\\_eraser & " in (report / "tables" / "methods.tex").read_text()
    assert "`fed_eraser`" in pd.read_csv(report / "tables" / "methods.csv")["method"].tolist()
    for name in plan_of(results.root).figures:
        assert (report / "figures" / f"{name}.png").stat().st_size > 4_000
        assert (report / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (report / "figures" / f"{name}.md").read_text().startswith("**")


@pytest.mark.long
def test_the_report_is_made_the_same_again(results: Ran, tmp_path: Path) -> None:
    shutil.copytree(results.root / "report" / "figures", tmp_path / "figures")
    run_report(plan_of(results.root), tmp_path)
    for name in ("requests", "overview"):  # all are written by the same lines
        run_figure(plan_of(results.root), name, tmp_path)
    run_page(plan_of(results.root), tmp_path, "make")
    for path in sorted((results.root / "report").rglob("*")):
        if path.is_file():
            again = (tmp_path / path.relative_to(results.root / "report")).read_bytes()
            if path.suffix == ".html":  # which shows where the figures lie
                again = again.replace(str(tmp_path).encode(), str(results.root / "report").encode())
            assert path.read_bytes() == again, path.name


def test_rounds_relative_to_scratch_are_paired(results: Ran) -> None:
    own, scratch = (
        results.table("unlearn", "cells", CELLS, name).query("stop == 'target' and request == 1").set_index("seed")
        for name in ("sifu", "scratch")
    )
    expected = (own["rounds"] / scratch["rounds"]).mean()
    statistics = read_table(results.root / "report" / "tables" / "statistics.parquet", STATISTICS)
    row = statistics.query("variant == 'sifu' and request == 1 and quantity == 'rounds_to_scratch'")
    assert float(row["mean"].iloc[0]) == pytest.approx(expected)


def test_weights_are_those_of_every_stop_and_request(results: Ran) -> None:
    tensors = read_weights(results.folder("unlearn", "sifu") / "weights.safetensors")
    assert len(tensors) == 1 + 2 * 2 * 3  # the original; weights and clients, two stop rules, three requests
    assert tensors["target/1/weights"].shape == (2, 7850)
    assert tensors["target/1/forget"][0].nonzero().flatten().tolist() == [0, 10]
    assert all(tensor.isfinite().all() for tensor in tensors.values() if tensor.dtype == torch.float32)


@pytest.mark.long
def test_what_is_missing_is_said(results: Ran, tmp_path: Path) -> None:
    """A plan with a block that has not been run: drawn with what is there."""
    plan = plan_of(results.root)
    later = {stage: [*jobs, *(job._replace(block="s002-003") for job in jobs)] for stage, jobs in plan.jobs.items()}
    plan = replace(plan, jobs=later | {"null_space": [Job()]})
    run_report(plan, tmp_path)
    run_figure(plan, "requests", tmp_path)
    run_page(plan, tmp_path, "make")
    words = f"{results.root}/unlearn/smoke/scratch/s002-003/cells.parquet"
    assert words in (tmp_path / "tables" / "headline.md").read_text()
    assert words in (tmp_path / "figures" / "requests.md").read_text()
    page = (tmp_path / "report.html").read_text()
    assert words in page
    assert "Figure alpha has not been drawn" in page


def test_figures_draw_what_is_shown_and_tables_hold_all(results: Ran, tmp_path: Path) -> None:
    plan = replace(plan_of(results.root), shown=["scratch", "dummy"])
    drawn = requests.draw(Results(plan))
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["Scratch", "Dummy"]
    run_report(plan, tmp_path)
    table = (tmp_path / "tables" / "headline.md").read_text()
    assert all(f"| smoke | {label} | 1 |" in table for label in LABELS.values())
    assert not lineage_figure.draw(Results(plan)).legends, "SIFU, whose lineage it is, is not shown"


def test_the_page_escapes_what_it_shows(results: Ran, tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    plan = replace(plan_of(results.root), titles={"smoke": bad}, labels=LABELS | {"sifu": bad})
    run_page(plan, tmp_path, bad)
    page = (tmp_path / "report.html").read_text()
    assert bad not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_settings_of_the_config_are_a_table(results: Ran) -> None:
    text = (results.root / "report" / "tables" / "settings.md").read_text()
    head = "| Smoke | logistic | one_class | 20 | 10 | 5 | 10 | 0.01 | 0.9 | - | 0 |"
    assert f"{head} 0.05 | 10 | 0.01 | 1 | 0.8 | 10 | 40 |" in text
    assert r"\begin{tabular}" in (results.root / "report" / "tables" / "settings.tex").read_text()


def test_findings_are_sentences_with_numbers(results: Ran) -> None:
    (first, *_) = findings(Results(plan_of(results.root)))
    assert first.startswith("Smoke: after scratch the accuracy on the first forgotten clients is 0.00.")
    assert "of scratch's client steps" in first


def test_a_lineage_is_drawn_as_the_paper_draws_it() -> None:
    """Training 100, request 1 cuts at 40, request 2 at round 10 of branch 1, request 3 back at 20 of the training."""
    starts, kept = lineage([100, 50, 30, 60], [(0, 40), (1, 10), (0, 20)])
    assert starts == [0, 40, 50, 20]
    assert kept == [20, 0, 0, 60]
    assert lineage([10, 5], [(-1, 0)]) == ([0, 0], [0, 5])


def test_bootstrap_interval() -> None:
    """Of 400 standard normal draws: about mean +- 1.96 / 20."""
    values = np.random.default_rng(1).normal(size=400)
    ((low, high),) = bootstrap_intervals([values])
    assert low == pytest.approx(values.mean() - 0.098, abs=0.015)
    assert high == pytest.approx(values.mean() + 0.098, abs=0.015)
    assert bootstrap_intervals([np.array([0.3]), values]) == [(0.3, 0.3), (low, high)]
