"""The tables of a report: the files that the stage `report` writes. Figures and the page are made of them."""

from __future__ import annotations

_FOR_PEOPLE = (
    "headline",
    "forgetting",
    "inverted",
    "fats",
    "atlas",
    "budgets",
    "certificates",
    "frontier",
    "audit",
    "bounds",
    "search",
    "scenario_search",
    "settings",
    "verification",
    "methods",
)
REPORT_FILES = (
    "statistics.parquet",
    "statistics.csv",
    "bounds.parquet",
    "certificates.parquet",
    "frontier.parquet",
    *(f"{name}.{kind}" for name in _FOR_PEOPLE for kind in ("csv", "md", "tex")),
)
