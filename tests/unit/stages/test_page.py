"""What the page stage writes next to the page, and what it says of a page that is too large."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.image import DPI, SHARP, webp
from sifu.stages import page
from sifu.stages.page import run_page
from sifu.store.paths import PICTURE, figure_file, narrow_picture


def plan_of(root: Path) -> ReportPlan:
    return ReportPlan(
        str(root), {"digits": "Digits"}, {"sifu": "SIFU"}, {"sifu": "sifu"}, ["sifu"], {}, {"digits": "plain"}
    )


def drawn(report: Path, name: str, dpi: int, inches: float) -> Path:
    """A white figure with a caption."""
    path = figure_file(report, name, "png")
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (round(dpi * inches), 100), "white").save(path, dpi=(dpi, dpi))
    path.with_suffix(".md").write_text(f"**{name}.** Text.\n")
    return path


def test_the_picture_of_a_phone_lies_next_to_the_other(tmp_path: Path) -> None:
    """3.55 inches of 200 dots are 710; 10 inches, however sharp, are 960 dots of a page."""
    drawn(tmp_path, PICTURE, SHARP, 10)
    drawn(tmp_path, "requests", DPI, 10)
    plan = replace(plan_of(tmp_path), jobs={"unlearn": [Job("digits", "s000-000", "sifu")]})
    run_page(plan, tmp_path, "make")
    narrow, text = narrow_picture(tmp_path), (tmp_path / "report.html").read_text()
    assert narrow.name == "overview_narrow.png"
    with Image.open(narrow) as image:
        assert image.width == 710
    assert base64.b64encode(webp(narrow.read_bytes())).decode() in text
    assert text.count('class="phone" width="341"') == 1  # 710 * 96 / 200
    assert text.count('class="desk" width="960"') == 1
    assert text.count('class="wide" width="960"') == 1


@pytest.mark.parametrize("spare", [-1, 0])
def test_a_page_that_is_too_large_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spare: int
) -> None:
    run_page(plan_of(tmp_path), tmp_path, "make")
    size = (tmp_path / "report.html").stat().st_size
    assert size < page.MAX_BYTES
    assert "warning" not in capsys.readouterr().err
    monkeypatch.setattr(page, "MAX_BYTES", size + spare)
    run_page(plan_of(tmp_path), tmp_path, "make")
    said = f"warning: {tmp_path / 'report.html'} has {size:,} bytes, more than {size - 1:,}"
    assert (said in capsys.readouterr().err) == (spare < 0)
