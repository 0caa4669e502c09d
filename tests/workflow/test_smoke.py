"""One run of config/smoke.yaml, its tables, and what a change re-runs. The tests of this file build on one another.

tests/workflow/test_whole.py does the same with every kind of scenario and method.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.catalog.figures import FIGURES
from sifu.plan.load import load_variant
from sifu.plan.report_files import REPORT_FILES
from sifu.plan.stage_spec import STAGES
from sifu.stages.choice import chosen_values
from sifu.store.experiment_schemas import ALPHA, ATLAS, AUDIT, REQUEST_SETS, SCENARIO_SEARCH, SWEEP
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.parquet import read_stamp, read_table, read_tables
from sifu.store.paths import FIGURE_KINDS
from sifu.store.schemas import CELLS, METRICS
from tests.workflow.conftest import ONCE, SMOKE, Checkout, parse_plan

CONFIG = ("--configfile", "config/smoke.yaml")
BLOCK, SEARCHED = "s000-001", "s1000000-1000000"


@pytest.fixture(scope="module")
def done(checkout: Checkout) -> Checkout:
    """Run as `make smoke` does: one line says how far it is, a few what was found."""
    result = checkout.run("--config", "config/smoke.yaml")
    assert result.returncode == 0, result.stdout + result.stderr
    jobs = sum(SMOKE.values()) - SMOKE["all"]
    assert result.stderr.splitlines()[0] == "planning ..."
    assert result.stderr.splitlines()[-1] == f"{jobs} of {jobs} jobs"
    findings = result.stdout.splitlines()
    assert [line.split()[1] for line in findings[:-1]] == ["Cost", "Forgotten", "Was", "Kept:", "Certificates,"]
    assert findings[-1].startswith("open results/smoke/report/report.html (all tables: ")
    assert findings[-1].endswith(" -m sifu summary --config config/smoke.yaml)")
    (log,) = (checkout.root / ".snakemake" / "log").glob("*.snakemake.log")
    assert parse_plan(log.read_text()) == SMOKE
    return checkout


@pytest.fixture(scope="module")
def results(done: Checkout) -> Path:
    return done.root / "results" / "smoke"


def test_every_planned_cell_has_its_files_and_rows(results: Path) -> None:
    folder = results / "train" / "smoke" / BLOCK
    assert all((folder / file).exists() for file in (*STAGES["train"].outputs, "log.txt"))
    assert read_table(folder / "cells.parquet", CELLS)["seed"].tolist() == [0, 1]
    for variant in ("scratch", "sifu", "last", "dp_smoke"):
        cells = read_table(results / "unlearn" / "smoke" / variant / BLOCK / "cells.parquet", CELLS)
        assert len(cells) == 2 * 3 * 2  # seeds, requests, stop rules
        assert set(cells["status"]) <= {"done", "not_reached"}
    metrics = read_table(results / "verify" / "smoke" / BLOCK / "metrics.parquet", METRICS)
    assert set(metrics["variant"]) == {"scratch", "sifu", "last", "dp_smoke"}


def test_every_side_experiment_has_its_rows(results: Path) -> None:
    swept = read_table(results / "sweep" / "smoke" / "sifu" / BLOCK / "sweep.parquet", SWEEP)
    assert sorted(set(swept["sigma"])) == [0.001, 0.1]
    sets = read_table(results / "request_sets" / "smoke" / BLOCK / "request_sets.parquet", REQUEST_SETS)
    assert set(zip(sets["variant"], sets["set"], strict=True)) == {(v, n) for v in ("scratch", "sifu") for n in (0, 1)}
    left_out = [results / "atlas" / "smoke" / part / BLOCK / "atlas.parquet" for part in ("c000-009", "c010-019")]
    assert read_tables(left_out, ATLAS).groupby("seed")["client"].nunique().tolist() == [20, 20]
    audited = read_table(results / "audit" / "smoke" / BLOCK / "audit.parquet", AUDIT)
    assert audited[["variant", "models", "clients"]].to_numpy().tolist() == [["sifu", 20, 2]]
    forgotten = read_table(results / "forgetting" / "smoke" / "s000-009" / "forgetting.parquet", FORGETTING)
    assert set(forgotten["variant"]) == {"original", "scratch"}
    assert set(forgotten["models"]) == {10}  # of two blocks
    assert "forgotten?" in (results / "report" / "tables" / "headline.csv").read_text().splitlines()[0].split(",")
    changed = read_table(results / "alpha_sweep" / "smoke" / "no_momentum" / BLOCK / "alpha.parquet", ALPHA)
    assert set(changed["change"]) == {"no_momentum"}


def test_the_report_is_complete(results: Path) -> None:
    report = results / "report"
    assert all((report / "tables" / file).exists() for file in REPORT_FILES)
    assert all((report / "figures" / f"{name}.{kind}").exists() for name in FIGURES for kind in FIGURE_KINDS)
    page = (report / "report.html").read_text()
    assert "planned tables are missing" not in page
    assert "snakemake --cores 4 --configfile config/smoke.yaml" in page


def test_a_searched_value_is_the_one_that_is_used(done: Checkout, results: Path) -> None:
    search = load_variant(done.root / "config" / "variants.yaml", "dp_smoke").search
    assert search is not None
    clip = chosen_values(results / "search" / "smoke" / "dp_smoke" / SEARCHED / "search.parquet", search)["clip"]
    for stage in ("train", "unlearn"):
        stamp = read_stamp(results / stage / "smoke" / "dp_smoke" / BLOCK / "cells.parquet")
        assert f'"clip": {clip}' in stamp["settings"]
        assert f'"update_clip": {clip}' in stamp["settings"]


def test_a_scenarios_search_is_stored_and_shown(results: Path) -> None:
    path = results / "scenario_search" / "smoke" / "clip" / SEARCHED / "scenario_search.parquet"
    table = read_table(path, SCENARIO_SEARCH)
    assert table.loc[table["used"], "value"].tolist() == ["null"]
    assert table["chosen"].sum() == 1
    assert "| Smoke | federation.clip | 5 |" in (results / "report" / "tables" / "scenario_search.md").read_text()


def test_running_again_does_nothing(done: Checkout) -> None:
    again = done.run("--config", "config/smoke.yaml")
    assert again.stderr.splitlines() == ["planning ...", "nothing to be done: everything is up to date"]


@pytest.mark.parametrize(
    ("file", "old", "new", "plan"),
    [
        pytest.param(
            "sifu/federation/engine.py", "", "\nEDITED = True\n", SMOKE | {"figure": 12}, marks=pytest.mark.long
        ),
        pytest.param("config/scenarios.yaml", "label: Smoke\n", "label: Smoke again\n", ONCE, marks=pytest.mark.long),
    ],
    ids=["code", "setting"],
)
def test_an_edit_reruns_the_stages_that_use_it(
    done: Checkout, file: str, old: str, new: str, plan: dict[str, int]
) -> None:
    """The engine: everything but partitions and the null space. A label: the report alone."""
    path = done.root / file
    before = path.read_text()
    path.write_text(before.replace(old, new) if old else before + new)
    kept = ("null_space", "partition")
    try:
        assert done.plan(*CONFIG) == {rule: count for rule, count in plan.items() if rule not in kept}
    finally:
        path.write_text(before)


@pytest.mark.long
def test_a_failed_stage_is_one_sentence_and_leaves_nothing(done: Checkout, results: Path) -> None:
    """A partition that cannot be read: the job fails, says why in its log, and no table appears."""
    (results / "partition" / "smoke" / BLOCK / "partition.parquet").write_text("junk")
    folder = results / "train" / "smoke" / BLOCK
    (folder / "cells.parquet").unlink()
    target = str((folder / "cells.parquet").relative_to(done.root))
    result = done.run("--config", "config/smoke.yaml", "--", target, "--rerun-triggers", "mtime")
    assert result.returncode != 0
    failed, ended = result.stderr.splitlines()[-2:]
    assert failed.startswith("failed: train smoke: error: ")
    assert ended.startswith("error: the run ended early, and the same command goes on from here")
    log = (folder / "log.txt").read_text()
    assert "error: " in log
    assert "is not a readable Parquet file" in log
    assert "Traceback" not in log
    assert not (folder / "cells.parquet").exists()
