"""Marks of texts on the page: code and links are shown as such, and nothing else of a text is HTML."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sifu.report.marked import marked

REPO = Path(__file__).parents[3]
FOLDER = Path("results/paper/report")
PAGES = {
    "[search](searches.md)": "docs/replication/searches.md",
    "[methods.md](../methods.md)": "docs/methods.md",
    "docs/forgetting.md": "docs/forgetting.md",
}


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)


@pytest.mark.parametrize("text", PAGES)
def test_a_link_of_a_claim_leads_to_the_page_from_where_the_report_lies(text: str) -> None:
    words, link = text.strip("[").partition("]")[0], os.path.relpath(PAGES[text], FOLDER)
    assert marked(f"See {text}.", FOLDER) == f'See <a href="{link}">{words}</a>.'
    assert (FOLDER / link).is_file()


@pytest.mark.parametrize("text", ["[no](no_such_page.md)", "[out](../../README.md)"])
def test_a_link_to_anything_else_leaves_its_words(text: str) -> None:
    assert marked(text, FOLDER) == text[1:].partition("]")[0]


def test_a_page_that_lies_elsewhere_has_no_links(tmp_path: Path) -> None:
    assert marked("[search](searches.md)", tmp_path) == "search"
    assert marked("[search](searches.md)") == "search"


def test_code_is_code_and_everything_is_escaped() -> None:
    assert marked("`kept`: <b> & `a < b`") == "<code>kept</code>: &lt;b&gt; &amp; <code>a &lt; b</code>"
    assert marked("[<i>](searches.md)", FOLDER).endswith(">&lt;i&gt;</a>")
    assert marked("[x](javascript:alert.md)", FOLDER) == "[x](javascript:alert.md)"
    assert marked("an odd ` stays") == "an odd ` stays"
