"""The site: static files that need no network and no checkout, and whose links lead somewhere."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from sifu.cli.main import main
from sifu.docs.markdown_page import markdown_page
from sifu.docs.picture import PHONE, two_pictures
from tests.conftest import REPO, one_sentence

LINK = re.compile(r'\b(?:href|src|srcset)="([^"]*)"')
DRAWN = "../results/mine/report/figures"
PAGE = "<html><body><p>{}</p><script>x = 'href=\"gone\"'</script></body></html>"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config whose report links to a page of docs, which links on, also to what no site has."""
    files = {
        "config/mine.yaml": "scenarios: [smoke]\nvariants: [scratch]\nresults: results/mine\n",
        "results/mine/report/report.html": PAGE.format('<a href="../../../docs/a.md#a-b">a</a>'),
        "results/mine/report/tables/headline.csv": "method\n",
        "results/mine/report/tables/headline.tex": "",
        "results/mine/report/figures/requests.png": "",
        "results/mine/manifest.json": "{}",
        "docs/a.md": "# A b\n\n[b](sub/b.md#c), [code](../sifu/x.py), [out](https://example.org)",
        "results/mine/report/figures/requests_narrow.png": "",
        "docs/c.md": two_pictures(f"{DRAWN}/requests.png", f"{DRAWN}/requests_narrow.png", "what it costs"),
        "docs/sub/b.md": "# B\n\n## C\n\n[report](../../results/mine/report), [m](../../results/mine/manifest.json)",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def broken(folder: Path) -> list[str]:
    """Links of a site that lead nowhere: to no file of it, or to no heading of its page."""
    found = []
    for page in folder.rglob("*.html"):
        text = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.DOTALL)
        for link in map(unescape, LINK.findall(text)):
            path, _, part = link.partition("#")
            target = (page.parent / path) if path else page
            outside = folder.resolve() not in target.resolve().parents
            if link.startswith(("data:", "https://")):
                continue
            if outside or not target.is_file() or (part and f'id="{part}"' not in target.read_text()):
                found.append(f"{page.relative_to(folder)}: {link}")
    return found


def test_links_lead_to_files_of_the_site(checkout: Path) -> None:
    assert main(["site", "--config", "config/mine.yaml"]) == 0
    site = checkout / "site"
    assert broken(site) == []
    assert (site / ".nojekyll").exists()
    assert not (site / "tables" / "headline.tex").exists()
    assert 'href="docs/a.html#a-b"' in (site / "index.html").read_text()
    assert "x = 'href=\"gone\"'" in (site / "index.html").read_text(), "scripts are left alone"
    page = (site / "docs" / "a.html").read_text()
    assert "<a >code</a>" in page, "what the site has not is text"
    assert 'href="sub/b.html#c"' in page
    picture = (site / "docs" / "c.html").read_text()
    assert f'<source media="{PHONE}" srcset="../figures/requests_narrow.png">' in picture, "a phone has its own"
    assert '<img alt="what it costs" src="../figures/requests.png">' in picture
    assert 'href="../../manifest.json"' in (site / "docs" / "sub" / "b.html").read_text()
    (site / "old.html").write_text("")
    assert main(["site", "--config", "config/mine.yaml"]) == 0
    assert not (site / "old.html").exists(), "it is written anew"


def test_nothing_of_somebody_else_is_replaced(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "site").mkdir()
    (checkout / "site" / "mine.txt").write_text("")
    assert main(["site", "--config", "config/mine.yaml"]) == 2
    assert "site is not a site: it has no .nojekyll" in one_sentence(capsys)
    assert (checkout / "site" / "mine.txt").exists()
    (checkout / "results/mine/report/report.html").unlink()
    assert main(["site", "--config", "config/mine.yaml"]) == 2
    assert "run make report CONFIG=config/mine.yaml first" in one_sentence(capsys)


def test_html_in_a_page_is_text() -> None:
    page = markdown_page("# T <x>\n\n<script>alert(1)</script> <!-- hidden -->\n\n| a |\n| --- |\n| `b` |")
    assert "<script>" not in page
    assert "hidden" not in page
    assert "<title>T &lt;x&gt;</title>" in page
    assert "<td><code>b</code></td>" in page


@pytest.mark.parametrize(
    "text",
    [
        '<picture>\n<source media="x" srcset="a.png">\n<img alt="b" src="c.png" onerror="alert(1)">\n</picture>',
        "<picture>\n<script>alert(1)</script>\n</picture>",
        "a <img src=x onerror=alert(1)> b",
        "<details onclick=alert(1)>",
    ],
)
def test_of_html_only_pictures_and_folded_parts_pass(text: str) -> None:
    body = markdown_page(text).partition("<body>")[2]
    assert "&lt;" in body
    assert not re.search(r"<(?:picture|script|img|details)", body)


def test_folded_parts_fold() -> None:
    page = markdown_page("<details><summary>All values</summary>\n\n| a |\n| --- |\n| 1 |\n\n</details>\n")
    assert re.search(r"<details><summary>All values</summary>\s*<table>.*</table>\s*</details>", page, re.DOTALL)


@pytest.mark.skipif(not (REPO / "results/paper/report/report.html").exists(), reason="no results/paper")
def test_the_stored_replication_makes_a_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    assert main(["site", "--out", str(tmp_path / "site")]) == 0
    assert broken(tmp_path / "site") == []
    assert sum(path.stat().st_size for path in (tmp_path / "site").rglob("*") if path.is_file()) < 20e6
