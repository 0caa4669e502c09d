"""The report in a real browser: it sorts, it filters, it stays offline, and it can be read on a phone and on a desk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.image import DPI
from sifu.report.page import build_page
from sifu.report.results import Results
from sifu.report.verdict_strip import ClaimRow
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS, METRICS

pytestmark = pytest.mark.second

LABELS = {"scratch": "Scratch", "sifu": "SIFU", "fine_tuning": "Fine-tuning"}
ROUNDS = {"scratch": 100, "sifu": 62, "fine_tuning": 9}


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
                values = {"retain": 0.95, "forget": rounds / 200, "forgotten": rounds / 200}
                metrics += [key | {"metric": "accuracy", "subset": name, "value": v} for name, v in values.items()]
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
    command = "snakemake --cores 4 --configfile config/smoke.yaml"
    page = build_page(Results(write_results(root)), root / "report", command)
    (root / "report.html").write_text(page)
    return root / "report.html"


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    """The page, with everything that it complains about or asks the network for."""
    opened = browser.new_page(viewport={"width": 1280, "height": 1000})
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


def unfold(page: Page) -> None:
    """Opens every part that is folded."""
    page.evaluate("document.querySelectorAll('section > details').forEach(part => { part.open = true; })")


def column(page: Page, place: int) -> list[str]:
    """The texts of a column, of the rows that can be seen."""
    cells = page.locator(f"#headline tbody tr:not([hidden]) td:nth-child({place})")
    return [text.split("[")[0].strip() for text in cells.all_inner_texts()]


def test_a_click_sorts_numbers_as_numbers(page: Page) -> None:
    unfold(page)
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
    unfold(page)
    method, request = 2, 3
    assert column(page, request) == ["1", "1", "1"], "the first request is shown first"
    page.locator("select[data-column='2']").select_option("2")
    assert column(page, request) == ["2", "2", "2"]
    page.locator("select[data-column='1']").select_option("SIFU")
    assert column(page, method) == ["SIFU"]
    page.locator("select[data-column='1']").select_option("")
    page.locator("input[type=search]").fill("fine")
    assert column(page, method) == ["Fine-tuning"]


CUT_OFF = "[...document.querySelectorAll('.scroll:has(table)')].filter(box => box.scrollWidth > box.clientWidth).length"


@pytest.mark.parametrize("width", [390, 1280])
def test_no_column_is_cut_off_at_any_width(page: Page, width: int) -> None:
    """Neither the page nor a table is wider than the window, with all parts open; on a phone a cell has its title."""
    page.set_viewport_size({"width": width, "height": 900})
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_OFF) == 0
    before = "getComputedStyle(document.querySelector('.board td:nth-child(2)'), '::before').content"
    assert page.evaluate(before) == ("none" if width == 1280 else '"cost: "')
    size = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 14
    assert page.locator("h1").is_visible()


def test_the_leaderboard_sorts_and_shows_its_command(page: Page) -> None:
    """Scratch, SIFU and fine-tuning take 100, 62 and 9 or 10 rounds of the same steps. Accuracy on forgotten clients is
    rounds / 200.
    """
    methods = page.locator("#board-0 tbody tr td:first-child summary")
    assert methods.all_inner_texts() == ["Scratch", "SIFU", "Fine-tuning"]
    page.locator("#board-0 th", has_text="cost").click()
    assert methods.all_inner_texts() == ["Fine-tuning", "SIFU", "Scratch"]
    grades = page.locator("#board-0 tbody td:nth-child(3)").all_inner_texts()
    assert [text[0] for text in grades] == ["↓", "↓", "✓"], "both are less accurate than scratch"
    command = page.locator("#board-0 code").nth(1)
    assert not command.is_visible()
    methods.nth(1).click()
    run, compare = command.inner_text().splitlines()
    assert run == (
        ".venv/bin/snakemake --cores 4 results/again/unlearn/smoke/sifu/s000-001/cells.parquet "
        "--configfile config/smoke.yaml --config results=results/again"
    )
    assert "sifu cell --scenario smoke --variant sifu --seed 0 --results results/again --against" in compare


def test_tabs_show_one_scenario_at_a_time(browser: Browser, tmp_path: Path) -> None:
    plan = write_results(tmp_path)
    other = tmp_path / "unlearn" / "other" / "scratch" / "s000-001"
    smoke = tmp_path / "unlearn" / "smoke" / "scratch" / "s000-001"
    cells = read_table(smoke / "cells.parquet", CELLS).assign(scenario="other")
    write_table(other / "cells.parquet", CELLS, cells, provenance("unlearn", {}, "0" * 16, "cpu"))
    jobs = plan.jobs | {"unlearn": [*plan.jobs["unlearn"], Job("other", "s000-001", "scratch")]}
    two = replace(plan, titles=plan.titles | {"other": "Other"}, marks=plan.marks | {"other": "plain"}, jobs=jobs)
    (tmp_path / "report.html").write_text(build_page(Results(two), tmp_path / "report", "make"))
    opened = browser.new_page()
    opened.goto((tmp_path / "report.html").as_uri())
    assert [opened.locator(f"#board-{place}").is_visible() for place in (0, 1)] == [True, False]
    opened.get_by_role("tab", name="Other").click()
    assert [opened.locator(f"#board-{place}").is_visible() for place in (0, 1)] == [False, True]
    opened.get_by_role("tab", name="Other").press("ArrowLeft")
    assert opened.locator("#board-0").is_visible()
    opened.close()


def test_verdicts_are_coloured_cells(browser: Browser, tmp_path: Path) -> None:
    claims = [
        ClaimRow("SIFU saves", "The paper's claims", "holds in part", {"MNIST": "holds", "CelebA": "not run"}, "A rule")
    ]
    text = build_page(Results(write_results(tmp_path)), tmp_path / "report", "make", claims)
    (tmp_path / "report.html").write_text(text)
    opened = browser.new_page()
    opened.goto((tmp_path / "report.html").as_uri())
    cells = opened.locator(".strip tbody tr:nth-child(2) td")
    assert [name.strip() for name in cells.all_inner_texts()] == ["SIFU saves", "✓", "not run", "~ holds in part"]
    assert cells.nth(1).get_attribute("title") == "holds"
    colour = "element => getComputedStyle(element).backgroundColor"
    assert cells.nth(1).evaluate(colour) != cells.nth(3).evaluate(colour)
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_light_and_dark(browser: Browser, path: Path, scheme: Literal["light", "dark"]) -> None:
    """Contrast of at least 4.5 between words and what is behind them (WCAG), also in the coloured cells."""
    opened = browser.new_page(color_scheme=scheme)
    opened.goto(path.as_uri())
    script = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    for chosen in ("section", "td.forgotten", "td.less-accurate-than-scratch", ".tabs button"):
        shown = opened.locator(chosen).first.evaluate(script)
        assert contrast(*shown) >= 4.5, (chosen, shown)
    opened.close()


def contrast(words: str, behind: str) -> float:
    """The contrast of two colours, by WCAG."""
    dark, light = sorted(luminance(colour) for colour in (words, behind))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)`, by WCAG."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_navigation_stays_and_opens_what_is_folded(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 600})
    page.get_by_role("link", name="Figures").click()
    assert page.locator("#figures > details").evaluate("part => part.open")
    assert page.locator("nav").bounding_box()["y"] <= 1  # type: ignore[index]


def test_what_has_not_been_drawn_is_said(page: Page) -> None:
    unfold(page)
    assert page.get_by_text("Figure requests has not been drawn.").is_visible()


def test_a_wide_figure_scrolls_on_a_phone_and_fits_on_a_desk(browser: Browser, tmp_path: Path) -> None:
    """Drawn 12 inches wide: 1152 dots of a page; a small one, of 4 inches, is never stretched."""
    (tmp_path / "report" / "figures").mkdir(parents=True)
    for name, inches in (("requests", 12), ("budgets", 4)):
        Image.new("RGB", (DPI * inches, 400), "white").save(tmp_path / "report" / "figures" / f"{name}.png")
        (tmp_path / "report" / "figures" / f"{name}.md").write_text(f"**{name}.** Text.\n")
    text = build_page(Results(write_results(tmp_path)), tmp_path / "report", "make")
    (tmp_path / "report.html").write_text(text)
    opened = browser.new_page(viewport={"width": 1600, "height": 900})
    opened.goto((tmp_path / "report.html").as_uri())
    unfold(opened)
    widths = {name: f"document.querySelector('#figure-{name} img').clientWidth" for name in ("requests", "budgets")}
    assert [opened.evaluate(script) for script in widths.values()] == [1152, 384]
    opened.set_viewport_size({"width": 400, "height": 900})
    assert opened.evaluate(widths["requests"]) == 1152
    assert opened.evaluate(widths["budgets"]) < 400
    assert opened.evaluate("document.documentElement.scrollWidth") <= 400
    opened.close()
