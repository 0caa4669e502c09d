"""Claimed and actual on the page: a row a method, without those that are exact."""

from __future__ import annotations

import pandas as pd

from sifu.report.certificates import certificates
from sifu.report.promises import left_out, promises
from tests.unit.report.test_certificates import cells

LABELS = {"exact": "Exact", "v": "V"}
NUMBERS = {"single_psi": [2.0, 2.5], "strict_psi": [2.8, 5.0], "alpha": 1.0}
EXACT = {"variant": "exact", "claimed_epsilon": 0.0, "claimed_delta": 0.0}
NONE = {"single_psi": 0.0, "strict_psi": 0.0, "alpha": 0.0}


def test_a_method_has_one_row_with_the_epsilon_of_each_count() -> None:
    """Ratios of 2, 2.8 and 1; everyone is not counted. The promise is made to one client, and kept in both seeds."""
    table = promises(certificates(cells(**NUMBERS)), LABELS)
    assert len(table) == 1
    row = table.iloc[0]
    assert row[["method", "promise to", "claimed", "for everyone"]].tolist() == ["V", "one client", "10", "-"]
    assert row["promise kept"].startswith("2 of 2")
    assert float(row["measured"]) < float(row["for one client"].partition(" ")[0]) < 10
    assert row["for the request"].endswith(")"), "the worst seed"


def test_exact_methods_are_named_and_have_no_row() -> None:
    table = certificates(pd.concat([cells(**NUMBERS), cells(**EXACT, **NONE)]))
    assert promises(table, LABELS)["method"].tolist() == ["V"]
    assert left_out(table, LABELS).endswith("no count says otherwise: Exact.")


def test_a_method_that_a_count_contradicts_is_shown() -> None:
    """It claims epsilon 0, and a client moved its model."""
    table = certificates(cells(**EXACT, **NUMBERS))
    assert promises(table, LABELS)["method"].tolist() == ["Exact"]
    assert left_out(table, LABELS) == ""
