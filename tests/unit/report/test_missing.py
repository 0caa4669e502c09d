"""What has not been run yet: every figure and table is made of the results that exist, and names those that do not."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from sifu.catalog.figures import FIGURES
from sifu.config.blocks import block_seeds
from sifu.errors import DataError
from sifu.plan.load import load_suite, read_yaml
from sifu.plan.report_files import REPORT_FILES
from sifu.plan.report_plan import ReportPlan
from sifu.plan.stage_spec import STAGES
from sifu.report.figures import overview
from sifu.report.missing import missing_names
from sifu.report.results import Results
from sifu.stages.figure import run_figure
from sifu.stages.page import run_page
from sifu.stages.report import run_report
from sifu.store import experiment_schemas, schemas
from sifu.store.paths import FIGURE_KINDS
from tests.conftest import REPO
from tests.sparse_tables import write

VARIANTS = ("scratch", "sifu", "last", "dp_smoke")
BLOCK = "s000-001"


def plan_of(root: Path) -> ReportPlan:
    """Two scenarios, four variants, every sweep."""
    change = {"name": "no_momentum", "label": "no momentum", "change": {"momentum": 0.0}}
    run = {
        "scenarios": ["smoke", "smoke_backdoor"],
        "variants": list(VARIANTS),
        "sigma_sweep": {"scenarios": ["smoke"], "values": [0.01, 0.1]},
        "setting_sweeps": [{"scenarios": ["smoke"], "variant": "puf", "key": "factor", "values": [1, 2]}],
        "request_sets": {"scenarios": ["smoke"], "variants": ["scratch", "sifu"], "count": 2},
        "alpha_sweep": {"scenarios": ["smoke"], "federations": [change]},
        "scenario_searches": [{"scenario": "smoke", "grid": {"federation.clip": [None, 5.0]}}],
        "num_seeds": 2,
    }
    plan = ReportPlan.read(json.loads(json.dumps(load_suite(run, REPO / "config", {}).report_plan().plain())))
    return replace(plan, results=str(root))


def fill(plan: ReportPlan) -> None:
    """Every table of the plan, as small as can be."""
    root, seeds = Path(plan.results), range(2)
    write(
        root / "null_space" / "null_space.parquet",
        experiment_schemas.NULL_SPACE,
        [{"seed": 0, "step": n} for n in range(3)],
    )
    for scenario in plan.titles:
        key = {"scenario": scenario}
        answers = [
            key | {"stop": stop, "seed": seed, "request": request, "status": "done"}
            for stop in ("target", "budget_50")
            for seed in seeds
            for request in (1, 2)
        ]
        training = [key | {"variant": "train", "seed": seed, "request": 0, "rounds": 9} for seed in seeds]
        write(root / "train" / scenario / BLOCK / "cells.parquet", schemas.CELLS, training)
        for variant in VARIANTS:
            rows = [row | {"variant": variant, "branch": 0, "cut_round": 1, "rounds": 5} for row in answers]
            write(root / "unlearn" / scenario / variant / BLOCK / "cells.parquet", schemas.CELLS, rows)
        all_answers = [
            {k: v for k, v in row.items() if k != "status"} | {"variant": v} for row in answers for v in VARIANTS
        ]
        kinds = [
            ("accuracy", "forget"),
            ("accuracy", "forgotten"),
            ("gap_to_scratch", "retain"),
            ("gap_to_scratch", "forget"),
        ]
        metrics = [row | {"metric": metric, "subset": subset} for row in all_answers for metric, subset in kinds]
        write(root / "verify" / scenario / BLOCK / "metrics.parquet", schemas.METRICS, metrics)
        checks = [row | {"accused": False, "chance": 0.1, "alpha": 0.01} for row in all_answers]
        write(root / "verify" / scenario / BLOCK / "verification.parquet", schemas.VERIFICATION, checks)
        points = [key | {"change": "", "seed": s, "round": n, "alpha": 1.0 + n} for s in seeds for n in range(3)]
        write(root / "alpha" / scenario / BLOCK / "alpha.parquet", experiment_schemas.ALPHA, points)
        for _, block, variant in (job for job in plan.jobs["search"] if job.scenario == scenario):
            path = root / "search" / scenario / variant / block / "search.parquet"
            tried = key | {"variant": variant, "seed": block_seeds(block)[0], "value": "0.1", "chosen": True}
            write(path, experiment_schemas.SEARCH, [tried])
        for _, block, name in (job for job in plan.jobs["scenario_search"] if job.scenario == scenario):
            path = root / "scenario_search" / scenario / name / block / "scenario_search.parquet"
            tried = key | {"seed": block_seeds(block)[0], "setting": name, "used": True, "chosen": True}
            write(path, experiment_schemas.SCENARIO_SEARCH, [tried])
    swept = [{"scenario": "smoke", "variant": "sifu", "sigma": sigma} for sigma in (0.01, 0.1)]
    write(root / "sweep" / "smoke" / "sifu" / BLOCK / "sweep.parquet", experiment_schemas.SWEEP, swept)
    tried = [{"scenario": "smoke", "variant": "puf", "value": value} for value in (1.0, 2.0)]
    path = root / "setting_sweep" / "smoke" / "puf" / BLOCK / "setting_sweep.parquet"
    write(path, experiment_schemas.SETTING_SWEEP, tried)
    sets = [{"scenario": "smoke", "variant": variant, "set": n} for variant in ("scratch", "sifu") for n in range(2)]
    write(root / "request_sets" / "smoke" / BLOCK / "request_sets.parquet", experiment_schemas.REQUEST_SETS, sets)
    changed = [{"scenario": "smoke", "change": "no_momentum", "round": n, "alpha": 1.0 + n} for n in range(3)]
    write(root / "alpha_sweep" / "smoke" / "no_momentum" / BLOCK / "alpha.parquet", experiment_schemas.ALPHA, changed)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("full")
    fill(plan_of(root))
    return root


@pytest.fixture
def plan(full: Path, tmp_path: Path) -> ReportPlan:
    """A copy of a whole run, to take files from."""
    shutil.copytree(full, tmp_path / "run")
    return plan_of(tmp_path / "run")


def make_all(plan: ReportPlan) -> Path:
    report = Path(plan.results) / "report"
    run_report(plan, report)
    for name in plan.figures:
        run_figure(plan, name, report)
    run_page(plan, report, "make")
    return report


@pytest.mark.second
def test_with_everything_there_nothing_is_missing(plan: ReportPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captions, tables and the page; drawing takes long, and captions do not wait for it."""
    monkeypatch.setattr("sifu.stages.figure.write_figure", lambda path, figure, dpi: None)
    report = make_all(plan)
    assert Results(plan).all_missing() == []
    texts = [path.read_text() for path in report.rglob("*.md")]
    assert not any("Missing" in text for text in texts)
    assert "planned tables are missing" not in (report / "report.html").read_text()


def test_scenarios_that_were_left_out_are_named(plan: ReportPlan, tmp_path: Path) -> None:
    words = "Planned and not run, as their datasets are missing: celeba."
    for left_out in ([], ["celeba"]):
        run_page(replace(plan, left_out=left_out), tmp_path, "make")
        assert (words in (tmp_path / "report.html").read_text()) is bool(left_out)


def all_named(files: list[Path], text: str, root: Path) -> bool:
    """Whether each is there, by its path or, among many, by its stage and its scenario."""
    there = [(file, " of [^;<]*".join(file.relative_to(root).parent.parts[:2])) for file in files]
    return all(str(file) in text or re.search(rf"\b{words}\b", text) for file, words in there)


def test_many_files_are_named_by_their_scenarios() -> None:
    missing = [f"r/unlearn/{name}/{variant}/b/cells.parquet" for name in ("b", "a") for variant in "vwxyz"]
    assert missing_names([*missing, "r/null_space/null_space.parquet", "r/sweep/a/b/sweep.parquet"], Path("r")) == [
        "null_space",
        "sweep of a",
        "unlearn of a, b",
    ]
    assert missing_names(missing[:8], Path("r")) == missing[:8]
    many = [f"r/alpha/{name}/{block}/alpha.parquet" for name in "abcdefghij" for block in ("s000-002", "s003-005")]
    assert missing_names(many, Path("r")) == ["alpha of 10 scenarios"]


def test_before_anything_has_run(tmp_path: Path) -> None:
    """Every figure, table and the page are made without any results, and name all that they would be made of."""
    plan = plan_of(tmp_path)
    planned = Results(plan).planned
    reported = [f"{stage}/{table}" for stage, spec in STAGES.items() for table in spec.reported]
    report = make_all(plan)
    assert all((report / "tables" / file).exists() for file in REPORT_FILES)
    assert set(FIGURES) - set(plan.figures) == {"audit", "power", "atlas"}, "of which nothing is planned"
    assert all((report / "figures" / f"{name}.{kind}").exists() for name in plan.figures for kind in FIGURE_KINDS)
    for name in plan.figures:
        caption = (report / "figures" / f"{name}.md").read_text()
        own = {"sigma": ("sweep/sweep",), "setting_sweep": ("setting_sweep/setting_sweep",)}  # lines need a sweep first
        for table in own.get(name, FIGURES[name].tables):
            assert all_named(planned(table), caption, tmp_path), (name, table)
    for name, tables in {
        "headline": ("unlearn/cells", "verify/metrics", "verify/verification"),
        "bounds": ("alpha/alpha",),
        "search": ("search/search",),
    }.items():
        caption = (report / "tables" / f"{name}.md").read_text()
        assert all(all_named(planned(table), caption, tmp_path) for table in tables), name
        others = {"alpha/alpha", "search/search"} - set(tables)
        assert not any(all_named(planned(table), caption, tmp_path) for table in others), "of no concern to it"
    page = (report / "report.html").read_text()
    assert all(all_named(planned(table), page, tmp_path) for table in reported)
    assert "planned tables are missing" in (report / "tables" / "budgets.tex").read_text()


@pytest.mark.second
@pytest.mark.parametrize(
    "gone",
    [
        "unlearn/smoke/scratch",
        *(
            pytest.param(gone, marks=pytest.mark.long)
            for gone in (
                "verify/smoke_backdoor/s000-001/verification.parquet",
                "unlearn/smoke/sifu",
                "unlearn/smoke",
                "unlearn",
                "train/smoke",
                "verify/smoke",
                "alpha/smoke",
                "alpha_sweep/smoke/no_momentum",
                "sweep",
                "setting_sweep",
                "request_sets",
                "search/smoke",
                "scenario_search",
                "null_space",
            )
        ),
    ],
)
def test_a_part_that_is_missing_is_named_and_the_rest_is_drawn(plan: ReportPlan, gone: str) -> None:
    path = Path(plan.results) / gone
    lost = [str(file) for file in ([path] if path.suffix else path.rglob("*.parquet"))]
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert lost
    source = Results(plan)
    for name in FIGURES:
        import_module(FIGURES[name].module).draw(source).draw_without_rendering()
    report = Path(plan.results) / "report"
    run_report(plan, report)
    run_page(plan, report, "make")
    captions = "".join(page.read_text() for page in (report / "tables").glob("*.md"))
    named = set(source.missing) | {file for file in lost if file in captions}
    assert named == set(lost), "a figure or a table that is made of it says so"
    assert all(file in (report / "report.html").read_text() for file in lost)


@pytest.mark.parametrize("name", FIGURES)
def test_the_note_stands_clear_of_everything_else(plan: ReportPlan, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario without tables: the red note overlaps neither the legend nor a panel or its labels."""
    for stage in ("alpha", "verify", "unlearn", "train"):
        shutil.rmtree(Path(plan.results) / stage / "smoke_backdoor")
    (Path(plan.results) / "null_space" / "null_space.parquet").unlink()
    shutil.rmtree(Path(plan.results) / "alpha_sweep")
    figures: list[Figure] = []
    monkeypatch.setattr("sifu.stages.figure.write_figure", lambda path, figure, dpi: figures.append(figure))
    run_figure(plan, name, Path(plan.results) / "report")
    (figure,) = figures
    figure.draw_without_rendering()
    if name == "overview":
        assert figure.get_suptitle() == overview.TITLE, "pages that it opens say what is missing"
        caption = (Path(plan.results) / "report" / "figures" / "overview.md").read_text()
        assert "planned tables are missing: " in caption
        return
    if figure._suptitle is None:  # type: ignore[attr-defined]
        whole = ("sigma", "setting_sweep", "request_sets", "power", "atlas", "audit")
        assert name in whole, "of which nothing is missing"
        return
    note = figure._suptitle.get_window_extent()  # type: ignore[attr-defined]
    others = [*figure.legends, *(axis for axis in figure.axes if axis.axison)]
    assert not any(note.overlaps(other.get_tightbbox()) for other in others)


def test_a_variant_that_is_missing_leaves_the_others(plan: ReportPlan) -> None:
    """SIFU has not been run in one of two scenarios: it is in the other's panels, and Last is in both."""
    shutil.rmtree(Path(plan.results) / "unlearn" / "smoke" / "sifu")
    run_report(plan, Path(plan.results) / "report")
    text = (Path(plan.results) / "report" / "tables" / "headline.md").read_text()
    assert "| Smoke (backdoors) | SIFU | 1 |" in text
    assert "| Smoke | Last | 1 |" in text
    assert "unlearn/smoke/sifu/s000-001/cells.parquet" in text


def test_a_report_of_results_needs_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r" / "train" / "mnist").mkdir(parents=True)
    raw = read_yaml(REPO / "config" / "config.yaml") | {
        "scenarios": ["mnist", "cifar10"],
        "results": "r",
        "missing_data": "skip",
    }
    suite = load_suite(raw, REPO / "config", {}, reports=True)
    assert (list(suite.scenarios), list(suite.skipped)) == (["mnist"], ["cifar10"])
    with pytest.raises(DataError, match="dataset mnist is missing"):
        load_suite(raw | {"scenarios": ["mnist"], "missing_data": "refuse"}, REPO / "config", {})
