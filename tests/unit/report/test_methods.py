"""Table 1: every method that is run, every method that is not, and the corrections."""

from __future__ import annotations

from sifu.catalog.methods import METHODS
from sifu.report.methods import methods_page, table_1


def test_every_method_has_a_row_of_its_own_making() -> None:
    rows, _ = table_1()
    assert [row["method"] for row in rows[: len(METHODS)]] == [f"`{name}`" for name in METHODS]
    said = {row["method"].strip("`"): row for row in rows[: len(METHODS)]}
    assert said["fed_eraser"]["theorem, convex"] == "no"
    assert said["dp_fedavg"]["FedAvg as it is"] == "no"
    assert said["descent_to_delete"]["theorem, convex"] == "yes"
    assert said["descent_to_delete"]["theorem, non-convex"] == "no"
    needing = [name for name, row in said.items() if row["needs forgotten clients' data"] != "no"]
    assert needing == ["fed_eraser_released"]


def test_others_are_not_implemented_and_corrected_where_the_paper_errs() -> None:
    rows, notes = table_1()
    others = {row["method"]: row for row in rows[len(METHODS) :]}
    assert len(others) == 6
    assert all(row["the server stores"] == "not implemented" for row in others.values())
    assert all(row["reference"] for row in others.values())
    assert others["BFU-SS"]["needs forgotten clients' data"] == "yes [2]"
    assert others["Forget-SVGD"]["needs forgotten clients' data"] == "yes [3]"
    assert others["F2L2"]["needs forgotten clients' data"] == "no [4]"
    assert others["Projected gradient ascent"]["needs forgotten clients' data"] == "yes"
    assert len(notes) == 4
    for number, note in enumerate(notes, start=1):
        assert f"[{number}] {note}" in methods_page()
