"""Table 1: every method that is run, every method that is not, and the corrections."""

from __future__ import annotations

import yaml

from sifu.catalog.methods import METHODS
from sifu.plan.method_check import method_class
from sifu.report.methods import OTHERS, methods_page, table_1


def test_every_method_has_a_row_of_its_own_making() -> None:
    rows, _ = table_1()
    assert [row["method"] for row in rows[: len(METHODS)]] == [f"`{name}`" for name in METHODS]
    said = {row["method"].strip("`"): row for row in rows[: len(METHODS)]}
    assert said["fed_eraser"]["theorem, convex"] == "no"
    assert said["dp_fedavg"]["FedAvg as it is"] == "no"
    assert said["descent_to_delete"]["theorem, convex"] == "yes"
    assert said["descent_to_delete"]["theorem, non-convex"] == "no"
    needing = [name for name, row in said.items() if row["needs forgotten clients' data"].startswith("yes")]
    assert needing == ["fed_eraser_released", "puf", "gradient_ascent", "fed_quit", "fed_osd", "mode"]
    needing = [name for name, row in said.items() if row["needs server data"] != "no"]
    assert needing == ["subtract_and_distil", "f2l2"]


def test_a_method_of_the_papers_table_that_is_run_keeps_the_papers_marks_in_a_note() -> None:
    """The marks agree with what the methods declare, but for the corrections."""
    rows, notes = table_1()
    said = {row["method"].strip("`"): row for row in rows}
    assert said["rapid_retraining"]["needs forgotten clients' data"] == "no [1]"
    assert said["rapid_retraining"]["theorem, non-convex"] == "yes [1]"
    assert "the paper's table says `theorem, non-convex: no, needs forgotten clients' data: yes`" in notes[0]
    assert said["f2l2"]["needs forgotten clients' data"] == "no [2]"
    for other in yaml.safe_load(OTHERS.read_text()):
        if "run" in other:
            declared = method_class(other["run"]).assumptions._asdict()
            assert {key: declared[key] for key in other["paper"]} == other["paper"] | other["corrected"]


def test_others_are_not_implemented_and_corrected_where_the_paper_errs() -> None:
    rows, notes = table_1()
    others = {row["method"]: row for row in rows[len(METHODS) :]}
    assert len(others) == 2
    assert all(row["the server stores"] == "not implemented" for row in others.values())
    assert all(row["reference"] for row in others.values())
    assert others["BFU-SS"]["needs forgotten clients' data"] == "yes [3]"
    assert others["Forget-SVGD"]["needs forgotten clients' data"] == "yes [4]"
    assert "IEEE DSLW 2022" in others["Forget-SVGD"]["reference"]
    assert len(notes) == 4
    for number, note in enumerate(notes, start=1):
        assert f"[{number}] {note}" in methods_page()
