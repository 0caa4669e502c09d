"""Metrics by name, a line each: what the stage `verify` measures of every model, and the report averages over seeds."""

from __future__ import annotations

from sifu.catalog.registry import Catalog

_OWN: dict[str, str] = {
    "accuracy": "sifu.metrics.accuracy:accuracy",
    "client_std": "sifu.metrics.client_std:client_std",
    "gap_to_scratch": "sifu.metrics.gap:gap_to_scratch",
    "gap_to_scratch_same_stop": "sifu.metrics.gap:gap_to_scratch_same_stop",
    "inverted_accuracy": "sifu.metrics.inverted:inverted_accuracy",
}

METRICS: Catalog[str] = Catalog("metrics", _OWN, str)  # name -> "module:function"
