"""What the rules ask of a plan: short plans, settings that matter, and files that belong together."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sifu.errors import SifuError
from sifu.plan.code_hash import used_modules
from sifu.plan.freshness import stage_modules
from sifu.plan.load import load_suite, read_yaml
from sifu.plan.report_plan import REPORTED, Job, ReportPlan
from sifu.plan.stage_options import stage_options
from sifu.plan.stage_spec import STAGES
from sifu.plan.targets import Targets
from sifu.store import paths
from tests.conftest import REPO

CONFIG = REPO / "config"
LONGEST_ARGUMENT = 128 * 1024  # of Linux: MAX_ARG_STRLEN


def targets(**changes: Any) -> Targets:
    raw = read_yaml(CONFIG / "smoke.yaml") | changes
    return Targets(load_suite(raw, CONFIG, {}), Path("data"))


def test_a_large_plan_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 seeds one by one, 3 variants: 6,000 cells would be too long an argument for Linux."""
    monkeypatch.chdir(tmp_path)
    big = targets(num_seeds=2000, block_size=1)
    path = Path(big.report_plan(None))
    assert path.stat().st_size > LONGEST_ARGUMENT
    assert len(ReportPlan.read(json.loads(path.read_text())).jobs["unlearn"]) == 8000
    assert big.report_plan(None) == str(path), "the same plan is the same file"
    assert big.figure_plan(None) != str(path), "figures do not depend on settings"


def test_figures_know_without_settings_which_scenarios_count_no_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    planned = targets(scenarios=["smoke", "mnist_embedded_twins"]).figure_plan(None)
    plan = ReportPlan.read(json.loads(Path(planned).read_text()))
    assert (plan.settings, plan.uncounted) == ({}, ["mnist_embedded_twins"])


def test_a_report_plan_comes_back_as_it_was() -> None:
    plan = targets(num_seeds=4, block_size=2).suite.report_plan()
    again = ReportPlan.read(json.loads(json.dumps(plan.plain())))
    assert {stage: set(jobs) for stage, jobs in again.jobs.items()} == {
        stage: set(plan.jobs[stage]) for stage in REPORTED
    }
    assert (again.titles, again.labels, again.settings) == (plan.titles, plan.labels, plan.settings)
    assert list(again.labels) == list(plan.labels)


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_jobs_files_and_a_module(stage: str) -> None:
    asked, spec = targets(), STAGES[stage]
    assert asked.suite.jobs[stage], "the smoke config runs every stage"
    for job in asked.suite.jobs[stage]:
        wildcards = SimpleNamespace(**job._asdict())
        inputs = asked.inputs(stage)(wildcards)
        assert set(inputs) == set(spec.reads)
        for file in spec.outputs:
            filled = asked.path(stage, file).format(**job._asdict())
            assert filled == asked.path(stage, file, job)
    assert (REPO / "sifu" / "stages" / f"{spec.folder or stage}.py").exists()
    assert f"rule {stage}:" in "".join(path.read_text() for path in (REPO / "workflow" / "rules").glob("*.smk"))


def test_a_search_that_was_given_depends_on_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that is made here is newer than what was searched elsewhere."""
    monkeypatch.chdir(tmp_path)
    asked = targets()
    (job,) = asked.suite.jobs["search"]
    wildcards = SimpleNamespace(**job._asdict())
    assert "partition" in asked.inputs("search")(wildcards)
    marker = Path(asked.path("search", paths.GIVEN, job))
    marker.parent.mkdir(parents=True)
    marker.touch()
    assert asked.inputs("search")(wildcards) == {}


@pytest.mark.parametrize("stage", ["sweep", "request_sets"])
def test_a_method_of_several_in_one_job_makes_it_stale(stage: str) -> None:
    """Its certificate, too: SIFU's cut depends on epsilon."""
    one, other = targets(), targets()
    (job, *_) = one.suite.jobs[stage]
    assert "sifu" in one._variants(stage, job)
    variant = other.suite.all_variants["sifu"]
    other.suite.all_variants["sifu"] = type(variant)(**(vars(variant) | {"certificate": {"epsilon": 3.0}}))
    other.suite._methods.clear()  # what was built of the old variant
    assert one.suite.method(job.scenario, "sifu") != other.suite.method(job.scenario, "sifu")
    assert one.settings(stage)(job) != other.settings(stage)(job)


def test_a_sweep_of_the_first_request_says_so() -> None:
    job, values = Job("smoke", "s000-001", "sifu"), ["--variant", "sifu", "--sigmas", "0.1", "--seeds-end", "2"]
    sweep = {"scenarios": ["smoke"], "variant": "sifu", "values": [0.1]}
    assert stage_options(targets(sigma_sweep=sweep).suite, "sweep", job) == values
    first = targets(sigma_sweep=sweep | {"rounds": 9, "requests": 1})
    assert stage_options(first.suite, "sweep", job) == [*values, "--rounds", "9", "--requests", "1"]


def test_several_sweeps_are_jobs_of_their_own() -> None:
    """A list of sweeps, one a variant; two of the same variant would write the same file."""
    sweep = {"scenarios": ["smoke"], "variant": "sifu", "values": [0.1]}
    strict = sweep | {"variant": "sifu_strict", "values": [1.0, 2.0]}
    asked = targets(sigma_sweep=[sweep, strict])
    jobs = asked.suite.jobs["sweep"]
    assert [job.part for job in jobs] == ["sifu", "sifu_strict"]
    assert stage_options(asked.suite, "sweep", jobs[1])[2:5] == ["--sigmas", "1.0", "2.0"]
    assert asked.path("sweep", "sweep.parquet", jobs[1]).endswith("sweep/smoke/sifu_strict/s000-001/sweep.parquet")
    assert targets(sigma_sweep=[sweep]).suite.jobs["sweep"] == targets(sigma_sweep=sweep).suite.jobs["sweep"]
    with pytest.raises(SifuError, match=r"sigma_sweep: .* is refused; allowed: one sweep a variant"):
        targets(sigma_sweep=[sweep, sweep])


def test_a_sweep_of_a_setting_is_one_job_a_variant() -> None:
    """Another value is another option of its command, which runs it again."""
    sweep = {"scenarios": ["smoke"], "variant": "puf", "key": "factor", "values": [0.5, 2], "rounds": 9, "num_seeds": 1}
    asked = targets(setting_sweeps=[sweep])
    (job,) = asked.suite.jobs["setting_sweep"]
    assert job == Job("smoke", "s000-001", "puf")
    values = ["--variant", "puf", "--setting", "factor", "--values", "0.5", "2.0", "--rounds", "9", "--seeds-end", "1"]
    assert stage_options(asked.suite, "setting_sweep", job) == values
    file = asked.path("setting_sweep", "setting_sweep.parquet", job)
    assert file.endswith("setting_sweep/smoke/puf/s000-001/setting_sweep.parquet")


def test_switching_downloads_on_makes_nothing_stale() -> None:
    job = Job("smoke", "s000-001")
    for ask in ("settings", "options"):
        assert getattr(targets(), ask)("partition")(job) == getattr(targets(download=True), ask)("partition")(job)


def test_the_list_of_metrics_is_part_of_verify() -> None:
    scenario = targets().suite.scenarios["smoke"]
    assert "sifu.catalog.metrics" in used_modules(*stage_modules("verify", scenario))
    assert "sifu.catalog.metrics" not in used_modules(*stage_modules("train", scenario))


SIFU = "sifu.methods.sifu"


def test_settings_of_the_run_are_part_of_no_stage() -> None:
    """A new key of config.yaml must not run trainings again."""
    scenario = targets().suite.scenarios["smoke"]
    for stage, method in (("train", None), ("unlearn", SIFU), ("sweep", SIFU), ("alpha_sweep", None)):
        assert "sifu.config.run" not in used_modules(*stage_modules(stage, scenario, method)), stage


def test_a_part_of_another_stage_is_one_sentence() -> None:
    """`no_momentum` is a change of the alpha sweep, and no variant."""
    asked = targets()
    change = asked.suite.jobs["alpha_sweep"][0].part
    with pytest.raises(
        SifuError, match=f"stage unlearn has no part {change} in this plan; it has dp_smoke, last, scratch, sifu"
    ):
        asked.inputs("unlearn")(Job("smoke", "s000-001", change))
