"""`python -m sifu site`: the report, its tables and figures, and the docs as static files that link to each other."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from html import escape, unescape
from pathlib import Path

from sifu.config.fields import build
from sifu.config.run import Run
from sifu.docs.markdown_page import html_page, markdown_page
from sifu.errors import StoreError
from sifu.plan.load import read_yaml
from sifu.store.paths import figures_folder, manifest_file, report_folder, report_page, tables_folder

MARK = ".nojekyll"  # GitHub Pages takes the files as they are; and a folder with it may be replaced
_LINK = re.compile(r'\b(href|src|srcset)="([^"]*)"')
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)
_ELSEWHERE = re.compile(r"#|[a-zA-Z][a-zA-Z0-9+.-]*:|//")  # an anchor, another protocol, another host
_KINDS = {".png", ".csv", ".md", ".parquet"}  # of tables and figures
_MENU = {"Report": "index.html", "Tables": "tables/index.html", "Replication": "docs/replication/index.html"}
_MENU |= {"Rules": "docs/rules.html", "Submit a method": "docs/submitting.html"}


def write_site(config: Path, folder: Path, root: Path) -> int:
    """Write the site of a config's results into `folder`, anew; gives back the number of files.

    `root` is the checkout, whose docs are part of the site.
    """
    results = Path(build(Run, read_yaml(config), "").results)
    if not report_page(report_folder(results)).exists():
        raise StoreError(f"{report_page(report_folder(results))} does not exist: run make report CONFIG={config} first")
    if folder.exists() and not (folder / MARK).exists():
        raise StoreError(f"{folder} is not a site: it has no {MARK}; name another folder with --out")
    moved = dict(_moved(results, root))
    shutil.rmtree(folder, ignore_errors=True)
    for source, target in moved.items():
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".html":
            place.write_text(_linked(_page(source, target, moved), source, target, moved))
        elif source.is_file():
            shutil.copyfile(source, place)
    (folder / "tables" / "index.html").write_text(_list_of_tables(moved))
    (folder / MARK).write_text("")
    return sum(path.is_file() for path in folder.rglob("*"))


def _moved(results: Path, root: Path) -> Iterator[tuple[Path, Path]]:
    """Every file of the site: where it comes from, and where it lies there."""
    report = report_folder(results).resolve()
    yield report_page(report), Path("index.html")
    for name, folder in (("tables", tables_folder(report)), ("figures", figures_folder(report))):
        for path in sorted(folder.glob("*")):
            if path.suffix in _KINDS:
                yield path, Path(name, path.name)
    if manifest_file(results).exists():
        yield manifest_file(results).resolve(), Path("manifest.json")
    root = root.resolve()
    pages = [root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "config").glob("*.md"))]
    for path in pages:
        if path.exists():
            yield path, path.relative_to(root).with_suffix(".html")
    for path in sorted((root / "config").glob("*.yaml")):
        yield path, path.relative_to(root)


def _page(source: Path, target: Path, moved: Mapping[Path, Path]) -> str:
    """A page of docs as HTML; of the report, the report with a menu at its end."""
    menu = _menu(target, set(moved.values()))
    if source.suffix == ".md":
        return markdown_page(source.read_text(), menu)
    return source.read_text().replace("</body>", f"{menu}\n</body>", 1)


def _menu(target: Path, there: set[Path]) -> str:
    """Links to the main pages of the site, as seen from one of them."""
    pages = {name: page for name, page in _MENU.items() if Path(page) in there or page.startswith("tables")}
    links = [f'<a data-site href="{_relative(Path(page), target)}">{name}</a>' for name, page in pages.items()]
    return f"<nav>{' · '.join(links)}</nav>"


def _linked(text: str, source: Path, target: Path, moved: Mapping[Path, Path]) -> str:
    """The page with links to where things lie in the site; a link to anything else becomes plain text."""

    def link(found: re.Match[str]) -> str:
        path, sign, part = unescape(found[2]).partition("#")
        if found.string.startswith("data-site ", found.start() - len("data-site ")) or _ELSEWHERE.match(found[2]):
            return found[0]
        place = moved.get((source.parent / path).resolve())
        if place is None and (source.parent / path).resolve() == _report_folder(moved):
            place = Path("index.html")
        return "" if place is None else f'{found[1]}="{escape(_relative(place, target) + sign + part)}"'

    parts = _SCRIPT.split(text)  # every second one is a script, which is left as it is
    return "".join(part if place % 2 else _LINK.sub(link, part) for place, part in enumerate(parts))


def _report_folder(moved: Mapping[Path, Path]) -> Path:
    """The folder of the report, which pages link to as a whole."""
    return next(source for source, target in moved.items() if target == Path("index.html")).parent


def _relative(place: Path, page: Path) -> str:
    return Path(os.path.relpath(place, page.parent)).as_posix()


def _list_of_tables(moved: Mapping[Path, Path]) -> str:
    """A page with a link to every table."""
    names: dict[str, list[str]] = {}
    for target in moved.values():
        if target.parent == Path("tables"):
            names.setdefault(target.stem, []).append(target.name)
    rows = [
        f"<tr><td>{escape(stem)}</td>"
        + "".join(f'<td><a href="{escape(name)}">{escape(Path(name).suffix[1:])}</a></td>' for name in sorted(files))
        + "</tr>"
        for stem, files in sorted(names.items())
    ]
    menu = _menu(Path("tables/index.html"), set(moved.values()))
    return html_page("Tables", f"<h1>Tables</h1><table>{''.join(rows)}</table>", menu)
