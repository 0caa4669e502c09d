"""What the page shows of its tables: audits and the methods' assumptions, folded; nothing where none was made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from PIL import Image

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report import page
from sifu.report.page import build_page
from sifu.report.results import Results
from sifu.store.experiment_schemas import AUDIT
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance


def page_of(root: Path, **jobs: list[Job]) -> str:
    return build_page(Results(plan_of(root, jobs)), root / "report", "make")


def plan_of(root: Path, jobs: dict[str, list[Job]]) -> ReportPlan:
    return ReportPlan(
        str(root),
        {"digits": "Digits"},
        {"sifu": "SIFU"},
        {"sifu": "sifu"},
        ["sifu"],
        {"digits": ["sifu"]},
        {"digits": "plain"},
        jobs,
    )


def test_names_of_scenarios_may_have_commas(tmp_path: Path) -> None:
    titles, marks = {"digits": "Digits", "twins": "Digits, twins"}, dict.fromkeys(("digits", "twins"), "plain")
    plan = replace(plan_of(tmp_path, {}), titles=titles, marks=marks)
    assert "Digits; Digits, twins. 0 seeds." in build_page(Results(plan), tmp_path / "report", "make")


def test_the_picture_comes_before_what_is_to_be_said_of_the_run(tmp_path: Path) -> None:
    """Above it one short line; below it, folded, what was run and how it differs from the paper."""
    text = page_of(tmp_path)
    head = text.partition("<header>")[2].partition("</header>")[0]
    assert '<p class="lead">1 scenario, 0 seeds.</p>' in head
    first = text.partition("<section")[2].partition("</section>")[0]
    about = "<details><summary>What was run, and what differs from the paper</summary><p>Digits. 0 seeds. Every number"
    assert first.index("Figure overview") < first.index(about) < first.index('<ol class="findings">')


def test_audits_and_assumptions_are_on_the_page(tmp_path: Path) -> None:
    row = {"scenario": "digits", "variant": "sifu", "who": "request", "seed": 0, "request": 1, "clients": 2}
    row |= {"covers": 1, "claimed_epsilon": 10.0, "delta": 0.01, "models": 5000, "statistic": "projection"}
    row |= {"hits": 4999, "alarms": 0, "proved_epsilon": 7.1, "most_provable": 7.2, "verdict": "exceeded"}
    table = pd.DataFrame([row], columns=[column.name for column in AUDIT.columns])
    path = tmp_path / "audit" / "digits" / "s000-000" / "audit.parquet"
    write_table(path, AUDIT, table, provenance("audit", {}, "0" * 16, "cpu"))
    page = page_of(tmp_path, audit=[Job("digits", "s000-000")])
    assert "<details><summary>Audits by counting trainings</summary>" in page
    _, _, audits = page.partition('<table id="audit"')
    audits = audits.partition("</table>")[0]
    assert all(f"<td>{word}" in audits for word in ("Digits", "SIFU", "each alone", "7.1", "5000", "exceeded"))
    assumptions = page.partition('<table id="assumptions"')[2].partition("</table>")[0]
    assert "needs forgotten clients" in assumptions
    assert "<tr><td>SIFU<td>sifu<td>" in assumptions
    assert "<p>[1] " in page, "footnotes stand below"


def test_without_an_audit_there_is_no_table_of_them(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    assert "Audits by counting" not in page
    assert "No method of this run gives a certificate." in page


def test_what_is_still_to_run_is_one_calm_line(tmp_path: Path) -> None:
    """At the end of the first section, with the details folded; nothing is written in the colour of an alarm."""
    plan = replace(plan_of(tmp_path, {"audit": [Job("digits", "s000-000")]}), left_out=["celeba"])
    page = build_page(Results(plan), tmp_path / "report", "make")
    first = page.partition("<section")[2].partition("</section>")[0]
    line = "Part of the plan is still to run: 1 table and 1 scenario without data here."
    assert f'<details class="to-run"><summary>{line}</summary>' in first
    assert first.endswith("</ul></details>")
    assert "their datasets are missing: celeba." in first
    assert "audit/digits/s000-000/audit.parquet" in first
    assert ".missing, .to-run { color: var(--soft); }" in page
    assert "still to run" not in page_of(tmp_path)


def test_a_caption_has_no_raw_marks_and_the_command_that_draws_it(tmp_path: Path) -> None:
    figures = tmp_path / "report" / "figures"
    figures.mkdir(parents=True)
    Image.new("RGB", (200, 100), "white").save(figures / "audit.png")
    (figures / "audit.md").write_text("**Title.** As figure `requests`, <b>.\n")
    plan = plan_of(tmp_path, {"audit": [Job("digits", "s000-000")]})
    page = build_page(Results(plan), tmp_path / "report", "make", draw=lambda name: f"draw {name}")
    assert "As figure <code>requests</code>, &lt;b&gt;. <br>Again: <code>draw audit</code>" in page


@pytest.mark.parametrize(("seeds", "text"), [((0,), "1 seed."), ((0, 1), "2 seeds."), ((0, 1, 2), "2 to 3 seeds.")])
def test_the_seeds_of_a_page_are_those_that_were_run(seeds: tuple[int, ...], text: str) -> None:
    """The second scenario has two of them at most."""
    rows = [("digits", seed) for seed in seeds] + [("twins", seed) for seed in seeds[:2]]
    results = SimpleNamespace(cells=pd.DataFrame(rows, columns=["scenario", "seed"]))
    assert page._seeds(results) == text
