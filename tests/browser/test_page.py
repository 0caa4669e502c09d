"""The report in a real browser: it sorts, it filters, it stays offline, and it can be read on a phone and on a desk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.page import build_page
from sifu.report.results import Results
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS, METRICS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LABELS = {"scratch": "Scratch", "sifu": "SIFU", "fine_tuning": "Fine-tuning"}
ROUNDS = {"scratch": 100, "sifu": 62, "fine_tuning": 9}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; without it a test skips, or fails where SIFU_REQUIRE_BROWSER is set (CI)."""
    if CHROMIUM is None:
        message = "needs Chromium (Debian: apt-get install chromium)"
        if os.environ.get("SIFU_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def write_results(root: Path) -> ReportPlan:
    """Two seeds, two requests of three methods, as the stages would have written them."""
    stamp = provenance("unlearn", {}, "0" * 16, "cpu")
    metrics = []
    for variant, rounds in ROUNDS.items():
        rows = []
        for seed in range(2):
            for request in (1, 2):
                key = {"scenario": "smoke", "variant": variant, "stop": "target", "seed": seed, "request": request}
                cost = {"rounds": rounds + seed, "counted_rounds": rounds + seed}
                cost |= {"client_steps": 50 * (rounds + seed), "comm_floats": 1}
                rows.append(key | {"status": "done"} | cost)
                for subset in ("retain", "forget", "forgotten"):
                    metrics.append(key | {"metric": "accuracy", "subset": subset, "value": rounds / 200})
        table = pd.DataFrame(rows, columns=[column.name for column in CELLS.columns])
        write_table(root / "unlearn" / "smoke" / variant / "s000-001" / "cells.parquet", CELLS, table, stamp)
        trained = table[table["request"] == 1].assign(variant="train")
        write_table(root / "train" / "smoke" / "s000-001" / "cells.parquet", CELLS, trained, stamp)
    write_table(root / "verify" / "smoke" / "s000-001" / "metrics.parquet", METRICS, pd.DataFrame(metrics), stamp)
    one = {"smoke": list(LABELS)}
    methods = {name: name for name in LABELS}
    names = {"smoke": "Smoke"}
    return ReportPlan(
        str(root),
        names,
        LABELS,
        methods,
        list(LABELS),
        one,
        {"smoke": "plain"},
        {
            "train": [Job("smoke", "s000-001")],
            "verify": [Job("smoke", "s000-001")],
            "unlearn": [Job("smoke", "s000-001", variant) for variant in LABELS],
        },
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page")
    page = build_page(Results(write_results(root)), root / "report", "make")
    (root / "report.html").write_text(page)
    return root / "report.html"


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    """The page, with everything that it complains about or asks the network for."""
    opened = browser.new_page(viewport={"width": 1600, "height": 1000})
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "request",
        lambda request: complaints.append(request.url) if not request.url.startswith(("file:", "data:")) else None,
    )
    opened.goto(path.as_uri())
    yield opened
    opened.close()
    assert complaints == [], "no console error, no request to anywhere"


def column(page: Page, place: int) -> list[str]:
    """The texts of a column, of the rows that can be seen."""
    cells = page.locator(f"#headline tbody tr:not([hidden]) td:nth-child({place})")
    return [text.split(" [")[0] for text in cells.all_inner_texts()]


def test_a_click_sorts_numbers_as_numbers(page: Page) -> None:
    titles = page.locator("#headline th").all_inner_texts()
    place = titles.index("rounds") + 1
    assert column(page, place) == ["100", "62", "10"]  # 9 and 10 in the mean
    head = page.locator(f"#headline th:nth-child({place})")
    head.click()
    assert column(page, place) == ["10", "62", "100"]
    assert head.get_attribute("aria-sort") == "ascending"
    head.press("Enter")
    assert column(page, place) == ["100", "62", "10"]


def test_filters_choose_rows(page: Page) -> None:
    method, request = 2, 3
    assert column(page, request) == ["1", "1", "1"], "the first request is shown first"
    page.locator("select[data-column='2']").select_option("2")
    assert column(page, request) == ["2", "2", "2"]
    page.locator("select[data-column='1']").select_option("SIFU")
    assert column(page, method) == ["SIFU"]
    page.locator("select[data-column='1']").select_option("")
    page.locator("input[type=search]").fill("fine")
    assert column(page, method) == ["Fine-tuning"]


@pytest.mark.parametrize("width", [400, 1600])
def test_it_can_be_read_at_any_width(page: Page, width: int) -> None:
    """Nothing but tables, in their own boxes, is wider than the window."""
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    size = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 14
    assert page.locator("h1").is_visible()


def test_what_has_not_been_drawn_is_said(page: Page) -> None:
    assert page.get_by_text("Figure alpha has not been drawn.").is_visible()


def test_a_wide_figure_scrolls_on_a_phone_and_fits_on_a_desk(browser: Browser, tmp_path: Path) -> None:
    """Drawn 12 inches wide: 1152 dots of a page; a small one, of 4 inches, is never stretched."""
    (tmp_path / "report" / "figures").mkdir(parents=True)
    for name, inches in (("alpha", 12), ("sigma", 4)):
        Image.new("RGB", (200 * inches, 400), "white").save(tmp_path / "report" / "figures" / f"{name}.png")
        (tmp_path / "report" / "figures" / f"{name}.md").write_text(f"**{name}.** Text.\n")
    text = build_page(Results(write_results(tmp_path)), tmp_path / "report", "make")
    (tmp_path / "report.html").write_text(text)
    opened = browser.new_page(viewport={"width": 1600, "height": 900})
    opened.goto((tmp_path / "report.html").as_uri())
    widths = {name: f"document.querySelector('#figure-{name} img').clientWidth" for name in ("alpha", "sigma")}
    assert [opened.evaluate(script) for script in widths.values()] == [1152, 384]
    opened.set_viewport_size({"width": 400, "height": 900})
    assert opened.evaluate(widths["alpha"]) == 1152
    assert opened.evaluate(widths["sigma"]) < 400
    assert opened.evaluate("document.documentElement.scrollWidth") <= 400
    opened.close()
