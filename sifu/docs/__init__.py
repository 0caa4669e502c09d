"""Pages that are generated, so that they cannot drift: all of a page, or what stands between two marks in it."""

from __future__ import annotations

from pathlib import Path

from sifu.docs.blocks import filled
from sifu.docs.reproduction import reproduction_page
from sifu.docs.settings import config_page
from sifu.docs.tables import results_page, table_page
from sifu.replication.published import MNIST, table_pages

PUBLISHED = MNIST  # its tables are pages of the docs


def pages(root: Path) -> dict[Path, str]:
    """Every page that is generated, or has generated parts, as it should be."""
    whole = {
        root / "config" / "README.md": config_page(),
        root / "docs" / "results.md": results_page(),
        root / "docs" / "methods.md": table_page(),
        root / "docs" / "reproduction.md": reproduction_page(root),
    }
    written = [path for path in by_hand(root) if "<!-- docs: " in path.read_text()]
    parts = {path: filled(path.read_text(), root) for path in written}
    return whole | table_pages(root / PUBLISHED) | parts


def by_hand(root: Path) -> list[Path]:
    """The pages that people write."""
    generated = ("results.md", "methods.md", "reproduction.md")
    docs = [path for path in sorted((root / "docs").glob("*.md")) if path.name not in generated]
    return [root / "README.md", root / "CONTRIBUTING.md", *docs]


def write_docs(root: Path) -> None:
    """Write every generated page."""
    for path, text in pages(root).items():
        path.write_text(text)
        print(f"wrote {path}")
