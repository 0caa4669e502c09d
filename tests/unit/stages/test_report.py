"""What a report makes of the smoke scenario's tables: tables, figures, findings and the page."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sifu.plan.report_plan import Job
from sifu.report.figures import lineage as lineage_figure
from sifu.report.figures import requests
from sifu.report.findings import findings
from sifu.report.results import Results
from sifu.stages.figure import run_figure
from sifu.stages.page import run_page
from sifu.stages.report import run_report
from sifu.store.parquet import read_table
from sifu.store.report_schemas import CERTIFICATES, STATISTICS
from sifu.store.schemas import CELLS
from tests.unit.stages.smoke_results import LABELS, Ran, plan_of, smoke_results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return smoke_results(tmp_path_factory)


def test_the_report_shows_every_method_and_says_what_is_missing(results: Ran) -> None:
    report = results.root / "report"
    statistics = read_table(report / "tables" / "statistics.parquet", STATISTICS)
    assert set(statistics["variant"]) == set(LABELS)
    assert (statistics["low"] <= statistics["mean"] + 1e-12).all()
    assert (statistics["mean"] <= statistics["high"] + 1e-12).all()
    headline = (report / "tables" / "headline.md").read_text()
    assert "| Smoke | Dummy | 1 |" in headline
    assert all(line.endswith(" | smoke |") for line in headline.splitlines() if line.startswith("| Smoke |"))
    assert set(pd.read_csv(report / "tables" / "headline.csv")["scenario"]) == {"smoke"}, "programs have ids"
    assert "| Smoke | Refusing | 1 | refused | - | - | - | - | - | - | - | - |" in headline
    assert "| Smoke | its own | one client | published |" in (report / "tables" / "bounds.md").read_text()
    assert "| Smoke | SIFU | 1 | 10 | 0.01 | claimed | 2.86 |" in (report / "tables" / "certificates.md").read_text()
    assert set(read_table(report / "tables" / "certificates.parquet", CERTIFICATES)["variant"]) <= set(LABELS)
    assert "| `fed_eraser` |" in (report / "tables" / "methods.md").read_text()
    assert "fed\\_eraser & " in (report / "tables" / "methods.tex").read_text()
    assert "`fed_eraser`" in pd.read_csv(report / "tables" / "methods.csv")["id"].tolist()
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
    assert all(f"| Smoke | {label} | 1 |" in table for label in LABELS.values())
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
