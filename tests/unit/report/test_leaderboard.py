"""The leaderboard, the four findings and their rows: what is best, what is said, what runs a row again."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.grades import ACCURACY, FORGOTTEN, NOT_FORGOTTEN, TWINS, UNKNOWN, Grade
from sifu.report.key_findings import key_findings
from sifu.report.leaderboard import leaderboard, needs, row_command, with_targets
from sifu.report.standings import BROKEN, KEPT, UNCOUNTED, Certificate, Standing, datasets_first, main_scenarios
from sifu.stages.page import MAX_BYTES

REPO = Path(__file__).parents[3]
LABELS = {"scratch": "Scratch", "sifu": "SIFU", "sifu_strict": "SIFU, strict", "fine_tuning": "Fine-tuning"}
METHODS = {"scratch": "scratch", "sifu": "sifu", "sifu_strict": "sifu", "fine_tuning": "fine_tuning"}
PLAN = ReportPlan(
    "results",
    {"a": "Digits", "b": "Digits, other clients"},
    LABELS,
    METHODS,
    marks={"a": "plain", "b": "plain"},
    jobs={"train": [Job("a", "s003-004")]},
    datasets={"a": "mnist/idx", "b": "mnist/idx"},
)


def standing(variant: str, cost: float, given: Grade, utility: float, worth: str = "", words: str = "") -> Standing:
    promise = Certificate(10.0, 0.01, worth) if worth else None
    numbers = {"gap": 0.0, "floor": math.nan, "utility": utility, "utility_gap": 0.0}
    return Standing(
        "a",
        variant,
        2,
        2,
        words,
        cost,
        grade=given,
        by=ACCURACY,
        by_accuracy=given,
        subset="test",
        certificate=promise,
        **numbers,
    )


ROWS = [
    standing("scratch", 1.0, FORGOTTEN, 0.99),
    standing("sifu", 0.5, NOT_FORGOTTEN, 0.9, BROKEN),
    standing("sifu_strict", 1.5, FORGOTTEN, 0.8, KEPT),
    standing("fine_tuning", math.nan, UNKNOWN, 0.95, words="never recovers"),
]


def test_the_best_of_those_that_run_against_scratch_is_bold() -> None:
    """SIFU is cheaper and more accurate, but did not forget; neither scratch nor who never recovers is in the race."""
    page = leaderboard(PLAN, ROWS, lambda scenario, variant: f"again {scenario}/{variant}")
    assert "<b>150%</b>" in page
    assert "<b>0.800</b>" in page
    assert page.count("<b>") == 3, "and the certificate that is kept"
    assert "<code>again a/sifu_strict</code>" in page
    assert "never recovers" in page


def test_trainings_again_are_not_in_the_race() -> None:
    """Blurred scratch forgot, is cheaper than the strict count and more accurate: it is a control."""
    plan = replace(PLAN, labels=LABELS | {"control": "Control"}, methods=METHODS | {"control": "blurred_scratch"})
    page = leaderboard(plan, [*ROWS, standing("control", 0.9, FORGOTTEN, 0.98)], lambda *_: "")
    assert "<b>150%</b>" in page
    assert "<b>0.800</b>" in page


def test_a_tie_has_no_winner() -> None:
    """Two methods, both as long as a training: the minimum of rounds decides."""
    rows = [standing("sifu", 1.0, FORGOTTEN, 0.9), standing("sifu_strict", 1.0, FORGOTTEN, 0.8)]
    page = leaderboard(PLAN, rows, lambda *_: "")
    assert "<b>100%</b>" not in page
    assert "the cost says nothing of a method" in page
    assert "the cost says nothing of a method" not in leaderboard(PLAN, ROWS, lambda *_: "")
    alone = leaderboard(PLAN, [rows[0], ROWS[3]], lambda *_: "")
    assert "<b>100%</b>" in alone, "the other one never recovers"


def test_what_diverges_in_some_seeds_does_not_win() -> None:
    """SIFU is cheaper and more accurate, in those seeds in which it recovers."""
    half = standing("sifu", 0.5, FORGOTTEN, 0.9)
    rows = [half._replace(compared=half.seeds - 1), standing("sifu_strict", 1.5, FORGOTTEN, 0.8)]
    page = leaderboard(PLAN, rows, lambda *_: "")
    assert "<b>150%</b>" in page
    assert "<b>0.800</b>" in page
    assert "<b>50%</b>" not in page


def test_where_there_is_a_twin_test_accuracy_wins_nothing() -> None:
    """On b, which is trained as a is, SIFU passes the twin test. On a its strict variant is cheaper, but untested."""
    plan = replace(PLAN, trainings={"a": "logistic", "b": "logistic"})
    tested = standing("sifu", 0.6, FORGOTTEN, 0.9)._replace(scenario="b", by=TWINS)
    rows = [standing("sifu", 0.5, FORGOTTEN, 0.9), standing("sifu_strict", 0.3, FORGOTTEN, 0.8)]
    assert "<b>50%</b>" in leaderboard(plan, [*rows, tested], lambda *_: "")
    assert "<b>30%</b>" in leaderboard(PLAN, [*rows, tested], lambda *_: ""), "trained otherwise"


def test_what_accuracy_says_is_not_the_last_word() -> None:
    """Strict SIFU is as accurate as scratch: by accuracy alone. Where a twin test of the same training fails it, no."""
    by_accuracy = leaderboard(PLAN, ROWS, lambda *_: "")
    assert '<td class="by-accuracy" data-sort="forgotten, by accuracy alone +0.0000">(✓) forgotten' in by_accuracy
    assert '<td class="forgotten" data-sort="forgotten +0.0000">✓ forgotten' in by_accuracy, "scratch"
    tested = replace(PLAN, trainings={"a": "mnist", "b": "mnist"})
    failed = ROWS[2]._replace(scenario="b", grade=NOT_FORGOTTEN, by=TWINS)
    refuted = leaderboard(tested, [*ROWS, failed], lambda *_: "")
    assert refuted.count('<td class="not-forgotten" data-sort="not forgotten +0.0000">✗ fails the twin test') == 1
    assert '<td class="not-forgotten" data-sort="not forgotten +0.0000">✗ not forgotten*' in refuted
    assert "by accuracy alone" not in refuted.partition("<table")[2]


def test_names_with_commas_are_told_apart() -> None:
    """Fine-tuning has a row on a third scenario, where its clients were forgotten."""
    plan = replace(PLAN, titles=PLAN.titles | {"c": "Faces"})
    grades = {"a": NOT_FORGOTTEN, "b": NOT_FORGOTTEN, "c": FORGOTTEN}
    rows = [standing("fine_tuning", 0.5, one, 0.9)._replace(scenario=name) for name, one in grades.items()]
    texts = [finding.text for finding in key_findings(plan, rows)]
    assert "By accuracy clients were not forgotten by Fine-tuning (Digits; Digits, other clients)." in texts


def test_four_findings_say_what_the_rows_say() -> None:
    found = key_findings(PLAN, ROWS)
    assert [finding.head for finding in found] == [
        "No method forgets for less than a training.",
        "SIFU costs less than a training, but not by every count.",
        "Some methods do not forget.",
        "Some certificates do not survive.",
    ]
    assert "Digits: SIFU, strict, 150%" in found[0].text
    assert found[1].text == (
        "Of scratch's client steps: SIFU 50% (forgotten in 0 of 1 scenario); "
        "SIFU, strict 150% (forgotten in 1 of 1 scenario, by accuracy)."
    )
    assert found[2].text == "By accuracy clients were not forgotten by SIFU."
    assert found[3].text == "Kept for all clients of a request: SIFU, strict. Broken: SIFU."
    assert key_findings(PLAN, []) == []


def test_a_certificate_that_nobody_planned_to_count_is_no_finding() -> None:
    """SIFU's is broken on a and not counted on b, by b's settings: b says nothing about it."""
    rows = [*ROWS, standing("sifu", 0.5, NOT_FORGOTTEN, 0.9, UNCOUNTED)._replace(scenario="b")]
    assert key_findings(replace(PLAN, uncounted=["b"]), rows)[3].text.endswith("Broken: SIFU.")
    assert "Not counted: SIFU (Digits, other clients)." in key_findings(PLAN, rows)[3].text


def test_a_row_is_run_again_into_a_folder_of_its_own() -> None:
    """Targets stand before --configfile, which takes every word that follows."""
    command = row_command(PLAN, "snakemake --cores 4 --configfile config/config.yaml")("a", "sifu")
    run, compare = command.splitlines()
    assert run == (
        ".venv/bin/snakemake --cores 4 results/again/unlearn/a/sifu/s003-004/cells.parquet "
        "--configfile config/config.yaml --config results=results/again"
    )
    assert compare.endswith("--variant sifu --seed 3 --results results/again --against results")
    assert row_command(PLAN, "sifu run")("a", "sifu") == "sifu run"
    assert with_targets("make", ["x.png"]) == "make x.png"


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("fine_tuning", "nothing"),
        ("dp_fedavg", "its own training"),
        ("bfu", "more than FedAvg as it is; forgotten clients' data"),  # a model and a local optimiser
        ("fed_quit", "forgotten clients' data"),
        ("no_such_method", "-"),
    ],
)
def test_needs_are_those_that_a_method_declares(method: str, words: str) -> None:
    assert needs(method) == words


def test_a_dataset_has_one_main_scenario() -> None:
    assert main_scenarios(PLAN) == ["a"]
    assert datasets_first(PLAN, ["b", "a"]) == ["b", "a"]
    assert datasets_first(PLAN, ["a", "b", "c"]) == ["a", "c", "b"]


def test_the_published_report_is_light() -> None:
    path = REPO / "results" / "paper" / "report" / "report.html"
    if not path.exists():
        pytest.skip("no published report")
    assert path.stat().st_size < MAX_BYTES == 2_000_000
