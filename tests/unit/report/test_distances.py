"""The table of distances: every subset, the mean and the 95th percentile, each next to its null."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report import page_tables
from sifu.report.distances import distance_table
from sifu.report.results import Results
from sifu.store.forgetting_schemas import DISTANCES

LABELS = {"original": "Original", "scratch": "Scratch", "sifu": "SIFU"}


def row(variant: str, metric: str, subset: str, mean: float, **more: Any) -> dict[str, Any]:
    key = {"scenario": "digits", "variant": variant, "request": 1, "metric": metric, "subset": subset, "models": 100}
    numbers = {"mean": mean, "percentile": 2 * mean, "null_mean": 0.13, "null_percentile": 0.25, "p_value": 0.048}
    return key | numbers | {"null_deviation": 0.002, "enough": True} | more


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[column.name for column in DISTANCES.columns])


ROWS = table(
    row("sifu", "klom", "test", 1.2),
    row("sifu", "klom", "forget", 9.5),
    row("sifu", "gaussian_kl", "forget", 117.0, null_deviation=None, enough=False),
    row("sifu", "klom", "retain", 0.3),
    row("sifu", "worst_decile_drop", "retain", -0.1),
    row("scratch", "jensen_shannon", "forget", -0.001),
    row("unknown", "klom", "forget", 1.0),
)


def test_a_row_a_subset_with_means_percentiles_and_nulls() -> None:
    found = distance_table(ROWS, LABELS)
    assert found[["method", "subset"]].to_numpy().tolist() == [
        *(["Scratch", "forget"], ["SIFU", "forget"], ["SIFU", "retain"], ["SIFU", "test"]),
    ]
    forget = found.set_index(["method", "subset"]).loc[("SIFU", "forget")]
    assert forget["KLOM"] == "9.50 (null 0.13 +- 0.002)"
    assert forget["KLOM, P95"] == "19.00 (null 0.25)"
    assert forget["Gaussian KL"] == "117.00 (null 0.13, p 0.048, few models)"
    assert forget["Gaussian KL, P95"] == "234.00 (null 0.25, few models)"
    assert forget["disagreement"] == "-"
    assert found["Jensen-Shannon"].tolist()[0] == "0.00 (null 0.13 +- 0.002)"
    assert found["KLOM, P95"].tolist()[2:] == ["0.60 (null 0.25)", "2.40 (null 0.25)"]


def test_a_distance_without_end_is_a_bound() -> None:
    """Where all seeds end at the same model, the normal distributions have no spread."""
    far = distance_table(table(row("sifu", "gaussian_kl", "forget", 1e300)), LABELS)
    assert far["Gaussian KL"].tolist() == ["> 10,000 (null 0.13 +- 0.002)"]


def test_where_nothing_was_measured_there_is_no_part_of_the_page() -> None:
    source = Results(ReportPlan("", {"digits": "Digits"}, LABELS))
    source.__dict__["distances"] = table()
    assert page_tables.distances(source, Path()) == ""
    source.__dict__["distances"] = ROWS
    assert "How far from retrained models" in page_tables.distances(source, Path())
