"""Generated pages are what the code says now."""

from __future__ import annotations

import re

import pytest

from sifu.docs import config_page, readme_page, results_page
from tests.conftest import REPO


@pytest.mark.parametrize(("path", "page"), [("config/README.md", config_page), ("docs/results.md", results_page)])
def test_generated_pages_are_current(path: str, page: object) -> None:
    assert (REPO / path).read_text() == page(), f"{path} is out of date: run `make docs`"  # type: ignore[operator]


def test_the_readmes_table_is_that_of_the_run() -> None:
    assert (REPO / "README.md").read_text() == readme_page(REPO), "README.md is out of date: run `make docs`"


def test_every_make_target_has_a_help_line() -> None:
    makefile = (REPO / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    for target in phony.group(1).split():
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), f"make {target} has no help text"


def test_links_of_the_readme_lead_somewhere() -> None:
    for page in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", (REPO / page).read_text()):
            assert (REPO / target).exists(), f"{page} links to {target}"
