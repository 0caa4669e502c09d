"""Where results lie. Every path under the results folder is made here.

results/<stage>/<scenario>[/<part>]/<block>/<file>    a stage's files; a part is a variant, a change or a search
results/report/{tables,figures}/, results/report/report.html    what people read
"""

from __future__ import annotations

from pathlib import Path

UNFINISHED = ".unfinished"  # in a stage's folder: checkpoints, should it be cut off
LOCK = ".lock"  # in a stage's folder: an empty file, locked by the process that works there
GIVEN = ".given"  # in a stage's folder: an empty file, by which its results count as made, whatever they were made of
FIGURE_KINDS = ("pdf", "png", "md")  # md: the caption
PICTURE = "overview"  # the figure that pages open with


def stage_folder(results: str | Path, stage: str, scenario: str = "", block: str = "", part: str = "") -> Path:
    return Path(results) / stage / scenario / part / block


def report_folder(results: str | Path) -> Path:
    return Path(results) / "report"


def tables_folder(report: Path) -> Path:
    """Where the tables that people read lie, such as headline.md."""
    return report / "tables"


def figures_folder(report: Path) -> Path:
    return report / "figures"


def figure_file(report: Path, name: str, kind: str) -> Path:
    return figures_folder(report) / f"{name}.{kind}"


def narrow_picture(report: Path) -> Path:
    """The picture that pages open with, as wide as a phone."""
    return figure_file(report, f"{PICTURE}_narrow", "png")


def report_page(report: Path) -> Path:
    return report / "report.html"


def manifest_file(results: str | Path) -> Path:
    return Path(results) / "manifest.json"


def stop_name(share: float | None) -> str:
    """`target`, or the budget in per cent."""
    return "target" if share is None else f"budget_{round(share * 100):02d}"
