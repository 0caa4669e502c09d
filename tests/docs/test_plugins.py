"""docs/plugins.md, followed word by word, but that the package is installed into a folder of its own."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.docs.tutorial import Reader, Step, sections

pytestmark = pytest.mark.second

SECTIONS = sections("plugins.md")
INSTALL = f"{sys.executable} -m pip install -q --no-deps --no-build-isolation --no-index --target"


def reader(root: Path) -> Reader:
    """In an empty folder; edits of the package count, as with `pip install -e`."""
    return Reader(root, path=os.pathsep.join([str(REPO), str(root / "project"), str(root / "site")]))


def here(step: Step) -> Step:
    """The step with the programs of this environment."""
    body = step.body.replace("pip install -e ./project", f"{INSTALL} site ./project")
    return step._replace(body=re.sub(r"^sifu ", f"{Path(sys.prefix, 'bin', 'sifu')} ", body, flags=re.MULTILINE))


def follow(root: Path, titles: Iterable[str]) -> str:
    """All steps of some sections; what the last commands printed."""
    somebody = reader(root)
    for title in titles:
        for step in SECTIONS[title]:
            somebody.follow(here(step))
    return somebody.output


def test_the_package_can_be_made(tmp_path: Path) -> None:
    follow(tmp_path, ["The package"])


@pytest.mark.long
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    dry = follow(tmp_path, SECTIONS)
    jobs = set(re.findall(r"^(\w+) +\d+$", dry, re.MULTILINE)) - {"total"}
    assert jobs == {"unlearn", "verify", "figure", "report", "page", "all"}, "no training runs again"
    assert dry.count("rule unlearn:") == 2, "nor do scratch's answers"
    assert "`shrink`" in (tmp_path / "results/mine/report/tables/methods.md").read_text()
    assert "Shrink more" in (tmp_path / "results/mine/report/tables/headline.md").read_text()
    assert (tmp_path / "results/mine/report/report.html").exists()


def test_the_code_of_a_method_and_a_model_takes_forty_lines() -> None:
    files = {Path(step.path).name: step.body for steps in SECTIONS.values() for step in steps if step.how == "new"}
    lines = [len(files[name].splitlines()) for name in ("shrink.py", "nets.py")]
    assert sum(lines) <= 40
