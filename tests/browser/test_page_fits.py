"""The report in narrow windows: what is wider than its box says so, and can be seen as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from sifu.report import page
from sifu.report.html import filtered_table, folded, html_table
from sifu.report.results import Results
from sifu.report.verdict_strip import ClaimRow, verdict_strip
from tests.browser.test_page import contrast, unfold, write_results
from tests.conftest import REPO

pytestmark = pytest.mark.second
SCROLLS = "box => box.scrollWidth > box.clientWidth"


def opened_page(browser: Browser, root: Path, width: int) -> Page:
    """The page with all parts open."""
    (root / "report.html").write_text(page.build_page(Results(write_results(root)), root / "report", "make"))
    opened = browser.new_page(viewport={"width": width, "height": 900})
    opened.goto((root / "report.html").as_uri())
    unfold(opened)
    return opened


def with_tables(
    browser: Browser, root: Path, width: int, body: str, scheme: Literal["light", "dark"] = "light"
) -> Page:
    """The page with some HTML in place of its sections."""
    template = Path(page.__file__).with_name("page.html").read_text()
    (root / "page.html").write_text(template.replace("$sections", f"<section>{body}</section>"))
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.goto((root / "page.html").as_uri())
    return opened


WIDER = "document.documentElement.scrollWidth"
TOO_WIDE = "boxes => boxes.filter(b => b.scrollWidth > b.clientWidth).map(b => b.innerText.slice(0, 60))"
PUBLISHED = REPO / "results" / "paper" / "report" / "report.html"


def open_all(opened: Page) -> None:
    """Opens every part that is folded, also those within others."""
    opened.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_path_in_a_caption_is_not_wider_than_the_page(browser: Browser, tmp_path: Path, width: int) -> None:
    """With everything opened: what is missing is named in a caption, without a place to break the line."""
    figures = tmp_path / "report" / "figures"
    figures.mkdir(parents=True)
    for name in ("overview", "requests"):
        Image.new("RGB", (200, 100), "white").save(figures / f"{name}.png")
        (figures / f"{name}.md").write_text(f"**Title.** Missing: results/{'mnist_particles_twins/' * 10}x.parquet.\n")
    opened = opened_page(browser, tmp_path, width)
    open_all(opened)
    assert opened.get_by_text("mnist_particles_twins").count() == 2
    assert opened.evaluate(WIDER) <= width
    opened.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_published_page_fits(browser: Browser, width: int) -> None:
    if not PUBLISHED.exists():
        pytest.skip("no published report here")
    opened = browser.new_page(viewport={"width": width, "height": 900})
    opened.goto(PUBLISHED.as_uri())
    open_all(opened)
    assert opened.evaluate(WIDER) <= width
    assert opened.locator(".scroll:has(table)").evaluate_all(TOO_WIDE) == []
    opened.close()


def test_a_phone_opens_with_the_picture(browser: Browser, tmp_path: Path) -> None:
    """Its upper half is on the first screen; what is to be said of the run is folded below it."""
    figures = tmp_path / "report" / "figures"
    figures.mkdir(parents=True)
    Image.new("RGB", (600, 600), "white").save(figures / "overview.png")
    (figures / "overview.md").write_text("**Title.** Text.\n")
    opened = opened_page(browser, tmp_path, 390)
    box = opened.locator("#figure-overview img").bounding_box()
    about = opened.get_by_text("What was run, and what differs from the paper").bounding_box()
    assert box
    assert about
    assert box["y"] < 300
    assert about["y"] > box["y"] + box["height"]
    opened.close()


def test_a_long_name_in_a_filter_is_not_wider_than_a_phone(browser: Browser, tmp_path: Path) -> None:
    name = "Rapid retraining, Hutchinson, step and damping searched, and some more of its many settings"
    table = pd.DataFrame({"scenario": ["A"], "method": [name]})
    opened = with_tables(browser, tmp_path, 390, filtered_table(table, "long", ("scenario", "method")))
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_was_not_judged_or_run_can_be_read(
    browser: Browser, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    """Words, not a dot, in both schemes; the line of what is still to run is no alarm: as grey as a note."""
    claim = ClaimRow("Claim", "Group", "holds", {"A": "not testable", "B": "not run", "C": "holds"}, "")
    body = verdict_strip([claim]) + folded("Still to run", "", "to-run")
    opened = with_tables(browser, tmp_path, 1280, body, scheme)
    colour = "e => getComputedStyle(e).color"
    behind = opened.locator("section").evaluate("e => getComputedStyle(e).backgroundColor")
    for words in ("n/a", "not run"):
        assert contrast(opened.locator("td.soft", has_text=words).evaluate(colour), behind) >= 4.5
    grey = opened.locator(".to-run summary").evaluate(colour)
    assert contrast(grey, behind) >= 4.5
    assert grey == opened.locator("p.note").evaluate(colour)
    opened.close()


def hint_of(box: Locator) -> Locator:
    return box.locator("xpath=preceding-sibling::*[1][contains(@class, 'hint')]")


@pytest.mark.parametrize(("columns", "wide"), [(16, False), (40, True)])
def test_a_table_that_is_cut_off_says_so(browser: Browser, tmp_path: Path, columns: int, wide: bool) -> None:
    """Sixteen columns of a long word fit on a desk, in small print; forty do not."""
    table = pd.DataFrame([["remaining"] * columns], columns=[f"c{i}" for i in range(columns)])
    opened = with_tables(browser, tmp_path, 1280, html_table(table, "many"))
    box = opened.locator(".scroll")
    assert box.evaluate(SCROLLS) is wide
    assert hint_of(box).is_visible() is wide
    opened.close()


def test_a_wide_figure_is_seen_as_a_whole_on_a_tap(browser: Browser, tmp_path: Path) -> None:
    figures = tmp_path / "report" / "figures"
    figures.mkdir(parents=True)
    Image.new("RGB", (2400, 400), "white").save(figures / "requests.png")
    (figures / "requests.md").write_text("**Requests.** Text.\n")
    opened = opened_page(browser, tmp_path, 390)
    box = opened.locator("#figure-requests .scroll")
    assert box.evaluate(SCROLLS)
    assert hint_of(box).inner_text().startswith("Scroll sideways")
    hint_of(box).click()
    assert not box.evaluate(SCROLLS), "the whole picture"
    assert hint_of(box).inner_text() == "Show it large"
    box.locator("img").click()
    assert box.evaluate(SCROLLS)
    opened.set_viewport_size({"width": 1280, "height": 900})
    hint_of(box).wait_for(state="hidden")
    opened.close()


def test_of_a_long_table_the_first_scenario_is_shown(browser: Browser, tmp_path: Path) -> None:
    table = pd.DataFrame({"scenario": ["A", "A", "B"], "method": ["x", "y", "x"]})
    opened = with_tables(browser, tmp_path, 1280, filtered_table(table, "long", ("scenario", "method")))
    rows = opened.locator("#long tbody tr:not([hidden])")
    assert rows.count() == 2
    assert opened.locator("output").inner_text() == "2 of 3 rows"
    opened.locator("select[data-column='0']").select_option("")
    assert rows.count() == 3
    opened.close()


def test_intervals_are_in_small_print(browser: Browser, tmp_path: Path) -> None:
    table = pd.DataFrame({"method": ["x [1]"], "cost": ["0.98 [0.97, 0.99]"], "rounds": ["3"]})
    opened = with_tables(browser, tmp_path, 1280, html_table(table, "few"))
    assert opened.locator("#few td small").all_inner_texts() == ["[1]", "[0.97, 0.99]"]
    assert opened.locator("#few td").all_text_contents() == ["x [1]", "0.98 [0.97, 0.99]", "3"]
    opened.close()


def test_cells_without_a_value_are_left_out_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    table = pd.DataFrame({"method": ["x"], "cost": ["-"], "rounds": ["3"]})
    for width, shown in ((390, 2), (1280, 3)):
        opened = with_tables(browser, tmp_path, width, html_table(table, "few"))
        assert opened.locator("#few td:visible").count() == shown
        opened.close()
