"""The atlas for people: a row a scenario, a mark a client, and a part of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.atlas import atlas_table, by_client, one_class
from sifu.report.figures import atlas as figure
from sifu.report.page import build_page
from sifu.report.results import Results
from sifu.store.experiment_schemas import ATLAS
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance


def row(client: int, seed: int, memorisation: float, psi: float) -> dict[str, Any]:
    return {
        "scenario": "digits",
        "client": client,
        "seed": seed,
        "memorisation": memorisation,
        "accuracy_drop": 0.1,
        "alpha": 1.0,
        "psi_published": psi,
        "psi_strict": 4 - memorisation,
    }


# client 0 is remembered least by its mean, 2 most; Psi is too small in one of six rows, strict Psi in none
ROWS = pd.DataFrame([row(c, s, c + s / 2, psi=0.5 if (c, s) == (0, 0) else 2.0 + c) for c in range(3) for s in (0, 1)])


def test_a_row_a_scenario() -> None:
    (found,) = atlas_table(ROWS).to_dict("records")
    assert found == {
        "scenario": "digits",
        "clients": 3,
        "seeds": 2,
        "memorisation": "1.25 [0.25, 2.25]",
        "rank correlation, alpha": "-",
        "rank correlation, Psi": "1.00",
        "rank correlation, strict Psi": "-1.00",
        "within classes, alpha": "-",
        "within classes, Psi": "-",
        "within classes, strict Psi": "-",
        "alpha <= Psi": "83%",
        "alpha <= strict Psi": "100%",
        "alpha / Psi": "0.33 [0.25, 2.00]",  # 1/4, 1/4, 1/3, 1/3, 1/2, 1/0.5
        "alpha / strict Psi": "0.37 [0.25, 0.67]",  # 1/4, 1/3.5, 1/3, 1/2.5, 1/2, 1/1.5
    }
    assert atlas_table(ROWS[ROWS["client"] < 2])["rank correlation, Psi"].tolist() == ["-"]
    assert atlas_table(ROWS.iloc[:0]).empty


def test_within_classes_the_clients_of_a_class_are_compared() -> None:
    """Clients 0, 2, 4 hold class 0, the others class 1, which is remembered far better and has a larger Psi. Within a
    class who has the larger Psi is remembered less: all clients together would hide that.
    """
    memory, psi = [1.0, 11.0, 2.0, 12.0, 3.0, 13.0], [3.0, 13.0, 2.0, 12.0, 1.0, 11.0]
    rows = pd.DataFrame([row(c, 0, memory[c], psi[c]) for c in range(6)])
    (found,) = atlas_table(rows, {"digits": 2}).to_dict("records")
    assert float(found["rank correlation, Psi"]) > 0.5
    assert found["within classes, Psi"] == "-1.00"
    settings = {"digits": {"partition": {"kind": "one_class"}, "dataset": {"name": "mnist"}}}
    assert one_class(settings) == {"digits": 10}
    assert one_class({"digits": settings["digits"] | {"partition": {"kind": "dirichlet"}}}) == {}


def test_means_over_seeds() -> None:
    clients = by_client(ROWS)
    assert clients["seeds"].tolist() == [2, 2, 2]
    assert clients["deviation"].tolist() == pytest.approx([0.125**0.5] * 3)
    assert by_client(ROWS[ROWS["seed"] == 0])["deviation"].tolist() == [0, 0, 0]


def test_the_figure_and_the_page_show_what_was_planned(tmp_path: Path) -> None:
    """Clients 0 and 1 are there, the block of client 2 is missing, and named."""
    jobs = [Job("digits", "s000-001", part) for part in ("c000-001", "c002-002")]
    titles, shown = {"digits": "Digits"}, {"digits": ["sifu"]}
    names = {"sifu": "SIFU"}, {"sifu": "sifu"}, ["sifu"]
    plan = ReportPlan(str(tmp_path), titles, *names, shown, {"digits": "plain"}, {"atlas": jobs})
    path = tmp_path / "atlas" / "digits" / "c000-001" / "s000-001" / "atlas.parquet"
    write_table(path, ATLAS, ROWS[ROWS["client"] < 2], provenance("atlas", {}, "0" * 16, "cpu"))
    drawn = figure.draw(Results(plan))
    assert [len(marks.get_offsets()) for marks in drawn.axes[0].collections] == [2, 2, 2]
    assert Results(plan).all_missing() == [str(tmp_path / "atlas/digits/c002-002/s000-001/atlas.parquet")]
    page = build_page(Results(plan), tmp_path / "report", "make")
    assert "<summary>Atlas: what is remembered of each client</summary>" in page
    assert '<table id="atlas"' in page
