"""The figures of the paper, a module each with `draw(source)` and a `CAPTION`; a line each here."""

from __future__ import annotations

FIGURES: dict[str, str] = {
    "budgets": "sifu.report.figures.budgets",
    "watermark": "sifu.report.figures.watermark",
    "requests": "sifu.report.figures.requests",
    "sigma": "sifu.report.figures.sigma",
    "request_sets": "sifu.report.figures.request_sets",
    "alpha": "sifu.report.figures.alpha",
    "lineage": "sifu.report.figures.lineage",
    "null_space": "sifu.report.figures.null_space",
}
