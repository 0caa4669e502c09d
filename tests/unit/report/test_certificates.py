"""What promises are worth, from cells whose numbers are on paper."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sifu.report.certificates import certificates, for_people, kept_for_one
from sifu.report.privacy_points import POINTS, Point, at_claim, claimed_ratio, psi_over_sigma
from sifu.report.promises import promises
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.report_schemas import CERTIFICATES
from sifu.store.schemas import CELLS

OWN = {"epsilon_2": 10.0, "delta_10": 0.01}  # the points of a claim of epsilon 10 at delta 0.01
NEW = ("single_psi", "everyone_psi", "alpha")


def cells(**columns: Any) -> pd.DataFrame:
    """Two seeds of one request; sigma 1, epsilon 10, delta 0.01, a promise to each client alone."""
    names = dict.fromkeys([*(column.name for column in CELLS.columns), *NEW])
    rows = pd.DataFrame([{"seed": seed} for seed in range(2)], columns=list(names))
    plain = {"scenario": "s", "variant": "v", "stop": "target", "request": 1, "status": "done", "covers": 1, "group": 3}
    return rows.assign(**plain, claimed_epsilon=10.0, claimed_delta=0.01, sigma=1.0).assign(**columns)


def test_a_ratio_at_readable_points() -> None:
    """Ratio 1: delta at epsilon 1 is Phi(-0.5) - e Phi(-1.5) = 0.1269; a claim of (10, 0.01) has 2.856."""
    found = {text: float(point.of(pd.Series([1.0]).to_numpy())[0]) for text, point in POINTS.items()}
    assert found["delta at epsilon = 1"] == pytest.approx(0.12694, rel=1e-3)
    assert found["epsilon at delta = 1e-2"] < found["epsilon at delta = 1e-5"]
    assert POINTS["epsilon at delta = 1e-5"].of(pd.Series([0.0, math.inf, math.nan]).to_numpy())[:2].tolist() == [
        0.0,
        math.inf,
    ]
    assert claimed_ratio(10.0, 0.01) == pytest.approx(2.856, rel=1e-3)
    assert claimed_ratio(0.0, 0.0) == 0


def test_no_noise_hides_nothing_and_nothing_needs_no_noise() -> None:
    ratio = psi_over_sigma(pd.Series([2.0, 0.0, 1.0, None]), pd.Series([4.0, 0.0, 0.0, 1.0]))
    assert ratio[:3].tolist() == [0.5, 0.0, math.inf]
    assert math.isnan(ratio[3])


def test_each_count_has_its_own_row_and_the_promise_is_about_one() -> None:
    """One client 2 and 2.5 of 2.856: kept twice. The request 2.8 and 5: once. Everyone is unknown, alpha is 1 and 1."""
    table = certificates(cells(single_psi=[2.0, 2.5], strict_psi=[2.8, 5.0], alpha=1.0))
    found = table.set_index("count")
    assert list(found.index) == ["claimed", "one client", "request", "measured"]
    assert found["own"].to_dict() == {"claimed": False, "one client": True, "request": False, "measured": False}
    assert found["kept"].tolist()[1:] == [1.0, 0.5, 1.0]
    assert found.loc["request", ["median_ratio", "worst_ratio"]].tolist() == [3.9, 5.0]
    assert found.loc["request", "kept_low"] == pytest.approx(1 - 0.975**0.5), "1 of 2"
    assert found.loc["claimed", "median_delta_10"] == pytest.approx(0.01, rel=1e-6)
    words = for_people(table, {"v": "V"}).set_index("count")
    assert words.loc["request", "promise kept"] == "1 of 2 [1%, 99%]"
    assert words.loc["request", "ratio"] == "3.9 (worst 5)"
    assert words.loc["claimed", "promise kept"] == "-"
    assert "one client (what is claimed)" in words.index


def test_an_accountant_decides_on_one_client() -> None:
    """9.1 of 10 is spent: kept for one client, though the ratio of the request is far beyond the promise."""
    table = certificates(cells(spent_epsilon=9.1, strict_psi=50.0)).set_index("count")
    assert table["kept"].to_dict() == {
        "claimed": pytest.approx(math.nan, nan_ok=True),
        "one client": 1.0,
        "request": 0.0,
    }
    assert table.loc["one client", "spent_epsilon"] == 9.1
    over = certificates(cells(spent_epsilon=[9.1, 12.0])).set_index("count")
    assert over.loc["one client", ["kept", "spent_epsilon", "seeds"]].tolist() == [0.5, 12.0, 2]
    assert for_people(over.reset_index(), {"v": "V"})["ratio"].tolist() == ["-", "-"]


def test_what_an_accountant_claims_says_nothing_of_other_points(tmp_path: Path) -> None:
    """10 at delta = 0.01 is the claim of noise added once and of noise in every round; 15.7 at 1e-5 of the first."""
    once = certificates(cells(single_psi=2.0)).set_index("count").loc["claimed"]
    assert once["median_epsilon_5"] == pytest.approx(15.7, rel=1e-2)
    table = certificates(cells(single_psi=2.0, spent_epsilon=9.1))
    claimed = table.set_index("count").loc["claimed"]
    known = claimed[[name for name in table if name.startswith(("median_", "worst_"))]].dropna().to_dict()
    assert known == {f"{which}_{name}": value for which in ("median", "worst") for name, value in OWN.items()}
    assert promises(table, {"v": "V"})["claimed"].tolist() == ["10"]
    assert (claimed["claimed_epsilon"], claimed["seeds"]) == (10.0, 2)
    path = tmp_path / "certificates.parquet"
    write_table(path, CERTIFICATES, table, provenance("test", {}, "0", "cpu"))
    assert len(read_table(path, CERTIFICATES)) == len(table)


def test_a_promise_to_one_client_is_kept_or_not() -> None:
    """2 and 2.5 of 2.856 are kept; what is broken in one seed, not counted, or made to several clients, is not."""
    kept = kept_for_one(cells(single_psi=[2.0, 2.5], strict_psi=9.0), "s", "v")
    (worst,) = Point("epsilon", 0.01).of(np.array([2.5]))
    assert kept is not None
    assert kept == (pytest.approx(worst), 10.0)
    assert kept_for_one(cells(single_psi=[2.0, 2.9]), "s", "v") is None
    assert kept_for_one(cells(single_psi=[2.0, None]), "s", "v") is None
    assert kept_for_one(cells(single_psi=1.0, covers=3), "s", "v") is None
    assert kept_for_one(cells(single_psi=1.0), "s", "another") is None
    assert kept_for_one(cells(spent_epsilon=9.1, single_psi=50.0), "s", "v") == (9.1, 10.0), "the accountant decides"


def test_what_holds_is_told_for_whom_it_is_promised() -> None:
    """Psi of one client 1, of a request 2, of everyone 3, where sigma is 1: delta at epsilon 10 by each of them."""
    psi = {"single_psi": 1.0, "strict_psi": 2.0, "everyone_psi": 3.0}
    one, request, everyone = Point("delta", 10.0).of(np.array([1.0, 2.0, 3.0]))
    for covers, covers_everyone, wanted in [
        (1, False, one),
        (3, False, request),
        (3, True, everyone),
        (1, True, everyone),
    ]:
        rows = cells(covers=covers, covers_everyone=covers_everyone, actual_delta=0.7, **psi)
        assert at_claim(rows, "delta").tolist() == pytest.approx([wanted] * 2)
        assert at_claim(rows, "delta", together=True).tolist() == [0.7, 0.7]
    exact = cells(claimed_epsilon=0.0, claimed_delta=0.0, sigma=0.0, single_psi=[0.0, 1.0])
    assert at_claim(exact, "epsilon").tolist() == [0.0, math.inf]
    assert at_claim(exact, "delta").tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("covers", "everyone", "wanted"),
    [(1, False, "one client"), (3, False, "request"), (6, True, "everyone")],
)
def test_which_count_a_promise_is_about(covers: int, everyone: bool, wanted: str) -> None:
    psi = dict.fromkeys(("single_psi", "strict_psi", "everyone_psi"), 1.0)
    table = certificates(cells(covers=covers, covers_everyone=everyone, group=6, request=2, **psi))
    assert table.loc[table["own"], "count"].tolist() == [wanted]


def test_older_cells_and_methods_without_a_promise(tmp_path: Any) -> None:
    """Without the new columns only the request is counted; what promises nothing, or diverged uncounted, has no row."""
    rows = cells(strict_psi=1.0).drop(columns=list(NEW))
    assert certificates(rows)["count"].tolist() == ["claimed", "request"]
    assert not len(certificates(rows.assign(claimed_epsilon=None)))
    lost = rows.assign(status="diverged", strict_psi=None)
    assert not len(certificates(lost))
    for part in (rows, lost):
        path = tmp_path / "certificates.parquet"
        write_table(path, CERTIFICATES, certificates(part), provenance("test", {}, "0", "cpu"))
        assert len(read_table(path, CERTIFICATES)) == len(certificates(part))
