"""The figures of a report, in their order: a module each with `TITLE`, `CAPTION` and `draw(source)`."""

from __future__ import annotations

FIGURES: dict[str, str] = {
    "overview": "sifu.report.figures.overview",
    "budgets": "sifu.report.figures.budgets",
    "watermark": "sifu.report.figures.watermark",
    "requests": "sifu.report.figures.requests",
    "sigma": "sifu.report.figures.sigma",
    "request_sets": "sifu.report.figures.request_sets",
    "alpha": "sifu.report.figures.alpha",
    "lineage": "sifu.report.figures.lineage",
    "null_space": "sifu.report.figures.null_space",
}
