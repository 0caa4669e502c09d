"""Table 1: every method, and the corrections of the paper's marks."""

from __future__ import annotations

import yaml

from sifu.catalog.methods import METHODS
from sifu.plan.method_check import method_class
from sifu.report.method_labels import method_label
from sifu.report.methods import PUBLISHED, _promises, methods_page, table_1
from sifu.unlearning.method import Method
from tests.conftest import REPO

FORGOTTEN, SERVER = "needs forgotten clients' data (forgotten_data)", "needs server data (server_data)"


def test_every_method_has_a_row_of_its_own_making() -> None:
    rows, _ = table_1()
    assert [row["id"] for row in rows[: len(METHODS)]] == [f"`{name}`" for name in METHODS]
    said = {row["id"].strip("`"): row for row in rows[: len(METHODS)]}
    assert said["fed_eraser"]["theorem, convex"] == "no"
    assert said["dp_fedavg"]["FedAvg as it is"] == "no"
    assert said["descent_to_delete"]["theorem, convex"] == "yes"
    assert said["descent_to_delete"]["theorem, non-convex"] == "no"
    needing = [name for name, row in said.items() if row[FORGOTTEN].startswith("yes")]
    assert needing == [name for name in METHODS if method_class(name).assumptions.forgotten_data]
    assert {"puf", "gradient_ascent", "bfu"} < set(needing)
    needing = [name for name, row in said.items() if row[SERVER] != "no"]
    assert needing == [name for name in METHODS if method_class(name).assumptions.server_data]
    assert "f2l2" in needing


def test_a_method_of_the_papers_table_that_is_run_keeps_the_papers_marks_in_a_note() -> None:
    """The marks agree with what the methods declare, but for the corrections."""
    rows, notes = table_1()
    said = {row["id"].strip("`"): row for row in rows}
    assert said["rapid_retraining"][FORGOTTEN] == "no [1]"
    assert said["rapid_retraining"]["theorem, non-convex"] == "yes [1]"
    assert f"the paper's table says `theorem, non-convex: no, {FORGOTTEN}: yes`" in notes[0]
    assert said["f2l2"][FORGOTTEN] == "no [2]"
    for other in yaml.safe_load(PUBLISHED.read_text()):
        declared = method_class(other["run"]).assumptions._asdict()
        assert {key: declared[key] for key in other["paper"]} == other["paper"] | other["corrected"]


def test_every_row_says_what_is_promised() -> None:
    """Exact: all methods whose file makes such a promise, and no other."""
    said = {row["id"].strip("`"): row["promises"] for row in table_1()[0]}
    calling = [path.stem for path in (REPO / "sifu" / "methods").glob("*.py") if "exact_promise(" in path.read_text()]
    assert sorted(name for name, word in said.items() if word == "exact") == sorted(calling)
    assert _promises(type("OfAnotherPackage", (Method,), {"exact": True})) == "exact"
    assert (said["sifu"], said["dp_fedavg"], said["fed_eraser"]) == ("(epsilon, delta)", "(epsilon, delta)", "nothing")


def test_every_row_says_what_it_was_made_from() -> None:
    """The words of the method's own file."""
    said = {row["id"].strip("`"): row["specified from"] for row in table_1()[0]}
    assert said == {name: method_class(name).specified_from for name in METHODS}
    assert said["fed_osd"] == "authors' code: zibinpan/FedOSD 41cc106"
    assert "second-hand" in said["fed_recovery"]
    assert "as remembered" in said["fed_recover"]


def test_the_page_says_what_is_true_of_some_variants_alone() -> None:
    page = methods_page()
    assert "R2D, rewind to delete (Mu and Klabjan, NeurIPS 2025)" in page
    assert "`puf` with `updates: stored` asks nothing of the forgotten clients" in page


def test_marks_are_of_the_papers_theorems() -> None:
    """FedRecovery's noise is for non-convex losses, FedRecover's bound for strongly convex ones."""
    marks = [method_class(name).assumptions for name in ("fed_recovery", "fed_recover")]
    assert [(one.convex, one.non_convex) for one in marks] == [(True, True), (True, False)]


def test_the_papers_table_is_run_and_corrected_where_it_errs() -> None:
    """Six methods of its Table 1 that are not its own baselines: each is a row here, its wrong marks are footnotes."""
    rows, notes = table_1()
    said = {row["id"].strip("`"): row for row in rows}
    assert len(yaml.safe_load(PUBLISHED.read_text())) == 6
    assert said["bfu"][FORGOTTEN] == "yes [3]"
    assert said["forget_svgd"][FORGOTTEN] == "yes [4]"
    assert "IEEE DSLW 2022" in said["forget_svgd"]["reference"]
    assert len(notes) == 4
    for number, note in enumerate(notes, start=1):
        assert f"[{number}] {note}" in methods_page()


def test_methods_have_the_leaderboards_labels_in_front() -> None:
    rows, _ = table_1()
    assert next(iter(rows[0])) == "method"
    labels = {row["id"].strip("`"): row["method"] for row in rows}
    wanted = {"fed_eraser_released": "FedEraser, as released", "dp_fedavg": "DP-FedAvg", "fed_osd": "FedOSD"}
    assert {name: labels[name] for name in wanted} == wanted
    assert not [name for name in METHODS.own if labels[name] == name], "add it to sifu/report/method_labels.py"
    assert method_label("of_another_package") == "of_another_package"
