"""Every generated page, and every page with generated parts, as it should be."""

from __future__ import annotations

from pathlib import Path

from sifu.docs.generated_parts import filled
from sifu.docs.methods_page import methods_page
from sifu.docs.replication_pages import replication_pages
from sifu.docs.results_page import results_page
from sifu.docs.settings import config_page

_GENERATED = ("results.md", "methods.md")  # of the files directly in docs


def pages(root: Path) -> dict[Path, str]:
    """The text of every page that is generated or has generated parts."""
    docs = root / "docs"
    generated = {
        root / "config" / "README.md": config_page(),
        docs / "results.md": results_page(),
        docs / "methods.md": methods_page(),
    }
    generated |= {docs / "replication" / name: text for name, text in replication_pages(root).items()}
    with_parts = [path for path in by_hand(root) if "<!-- docs: " in path.read_text()]
    return generated | {path: filled(path.read_text(), root) for path in with_parts}


def by_hand(root: Path) -> list[Path]:
    """The pages that people write."""
    docs = [path for path in sorted((root / "docs").glob("*.md")) if path.name not in _GENERATED]
    return [root / "README.md", root / "CONTRIBUTING.md", *docs]


def write_docs(root: Path) -> None:
    """Write every generated page."""
    for path, text in pages(root).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"wrote {path}")
