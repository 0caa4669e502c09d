"""Methods that look good by accuracy and fail the twin test are named; both grades of a method are kept."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import ACCURACY, FORGOTTEN, IN_PART, NOT_FORGOTTEN, TWINS, UNKNOWN, Grade
from sifu.report.key_findings import key_findings
from sifu.report.looked_good import forgot, looked_good
from sifu.report.results import Results
from sifu.report.standings import EXACT, Certificate, Standing, standings
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.schemas import CELLS, METRICS

LABELS = {"original": "Original", "scratch": "Scratch", "tuned": "Fine-tuning", "sifu": "SIFU"}
METHODS = {name: name for name in LABELS} | {"tuned": "fine_tuning"}
PLAN = ReportPlan("", {"a": "Digits", "b": "Images"}, LABELS, METHODS)


def standing(scenario: str, variant: str, by_twins: Grade | None, by_accuracy: Grade, gap: float = 0.0) -> Standing:
    judged = {"grade": by_twins or by_accuracy, "by": TWINS if by_twins else ACCURACY, "by_accuracy": by_accuracy}
    numbers = {"cost": 0.5, "gap": gap, "floor": math.nan, "utility": 0.9, "utility_gap": 0.0}
    return Standing(scenario, variant, 2, 2, "", subset="test", certificate=None, **judged, **numbers)  # type: ignore[arg-type]


def test_who_looks_good_by_accuracy_and_fails_is_named_by_scenario() -> None:
    rows = [
        standing("a", "tuned", NOT_FORGOTTEN, FORGOTTEN),
        standing("a", "sifu", FORGOTTEN, FORGOTTEN),
        standing("b", "tuned", NOT_FORGOTTEN, IN_PART),  # accuracy sees it, too
        standing("b", "sifu", NOT_FORGOTTEN, FORGOTTEN),
    ]
    words = "They look good by accuracy and fail the twin test: Digits: Fine-tuning; Images: SIFU."
    assert looked_good(PLAN, rows) == words
    (text,) = [finding.text for finding in key_findings(PLAN, rows) if words in finding.text]
    assert text.startswith("By the twin test clients were not forgotten by 1 of 2 methods in Digits; 2 of 2 methods in")
    assert "By accuracy clients" not in text, "who was judged by twins needs no accuracy"


def test_who_was_run_on_the_same_data_and_not_tested_is_said() -> None:
    """On b, which has the data of a, tuned was run and sifu looks good; neither there nor on a was it tested by twins.
    c has other data, and no twin test.
    """
    plan = replace(
        PLAN,
        titles=PLAN.titles | {"c": "Faces"},
        labels=LABELS | {"other": "Other"},
        methods=METHODS | {"other": "other"},
        datasets={"a": "mnist", "b": "mnist", "c": "celeba"},
    )
    rows = [
        standing("a", "scratch", FORGOTTEN, FORGOTTEN),
        standing("a", "other", FORGOTTEN, FORGOTTEN),
        standing("b", "tuned", None, NOT_FORGOTTEN),
        standing("b", "sifu", None, FORGOTTEN),
        standing("b", "other", None, FORGOTTEN),
        standing("c", "tuned", None, FORGOTTEN),
    ]
    said = " Variants run on the same data and not tested by twins: Digits: 2, 1 of which look good by accuracy"
    none = "No method that looks good by accuracy fails the twin test."
    assert looked_good(plan, rows) == f"{none}{said}."
    assert looked_good(plan, rows, named=True) == f"{none}{said} (SIFU)."
    told = looked_good(plan, [*rows, standing("b", "sifu", NOT_FORGOTTEN, FORGOTTEN)], named=True)
    assert told is not None
    assert told.endswith("not tested by twins: Digits: 1, 0 of which look good by accuracy.")


def test_who_fails_the_twin_test_on_a_dataset_has_forgotten_nowhere_on_it() -> None:
    """Fine-tuning looks good by accuracy on b, which has the data of a, where it fails; c has other data."""
    plan = replace(PLAN, titles=PLAN.titles | {"c": "Faces"}, trainings={"a": "mnist", "b": "mnist", "c": "celeba"})
    failed = standing("a", "tuned", NOT_FORGOTTEN, FORGOTTEN)
    same, other, sifu = (standing(*one, None, FORGOTTEN) for one in (("b", "tuned"), ("c", "tuned"), ("b", "sifu")))
    rows = [failed, same, other, sifu]
    assert forgot(plan, rows) == [other, sifu]
    first = key_findings(plan, rows)[0].text
    assert "Digits: none; Images: SIFU, 50% (by accuracy); Faces: Fine-tuning, 50% (by accuracy)." in first
    assert "Methods that fail the twin test of the same kind of training are left out." in first


def test_what_diverges_in_some_seeds_is_no_winner() -> None:
    """SIFU is cheaper, in one seed of two; fine-tuning recovers in both."""
    half = standing("a", "sifu", None, FORGOTTEN)._replace(compared=1, cost=0.4)
    rows = [half, standing("a", "tuned", None, FORGOTTEN), standing("b", "sifu", None, FORGOTTEN)]
    cheapest, costs, *_ = key_findings(PLAN, rows)
    assert "Digits: Fine-tuning, 50% (by accuracy); Images: SIFU, 50% (by accuracy)." in cheapest.text
    assert costs.text.endswith("in 2 of 2 scenarios, by accuracy). Not all seeds recover: SIFU (Digits).")
    assert "Not all seeds" not in key_findings(PLAN, rows[1:])[1].text


def test_a_variant_that_did_the_same_shares_the_verdict() -> None:
    """The search of `tuned` found its defaults: the same numbers on b. On a only the default was tested, and fails."""
    labels, methods = LABELS | {"searched": "Searched"}, METHODS | {"searched": "fine_tuning"}
    plan = replace(PLAN, labels=labels, methods=methods, trainings={"a": "mnist", "b": "mnist"})
    failed, default = standing("a", "tuned", NOT_FORGOTTEN, FORGOTTEN), standing("b", "tuned", None, FORGOTTEN)
    searched = standing("b", "searched", None, FORGOTTEN)
    assert forgot(plan, [failed, default, searched]) == []
    other = searched._replace(cost=0.51)
    assert forgot(plan, [failed, default, other]) == [other]


def test_what_rests_on_accuracy_alone_is_said() -> None:
    """No twin test of SIFU at first; then it passes one on the data of b, and its other scenarios need none."""
    plan = replace(PLAN, trainings={"a": "mnist", "b": "mnist"})
    untested = standing("a", "sifu", None, FORGOTTEN)
    cheapest, costs, *_ = key_findings(plan, [untested])
    assert cheapest.head == "Judged by accuracy, forgetting need not cost a training."
    assert "Digits: SIFU, 50% (by accuracy)." in cheapest.text
    assert cheapest.text.endswith("By accuracy: the twin test has not shown it, and accuracy alone is no proof.")
    assert "forgotten in 1 of 1 scenario, by accuracy" in costs.text

    cheapest, costs, *_ = key_findings(plan, [untested, standing("b", "sifu", FORGOTTEN, FORGOTTEN)])
    assert cheapest.head == "Forgetting need not cost a training."
    assert "Digits: SIFU, 50%; Images: SIFU, 50%." in cheapest.text
    assert "by accuracy" not in (cheapest.text + costs.text).lower()


def test_what_was_counted_as_exact_needs_no_twin_test() -> None:
    row = standing("a", "sifu", None, FORGOTTEN)._replace(certificate=Certificate(0.0, 0.0, EXACT))
    first = key_findings(PLAN, [row])[0]
    assert first.head == "Forgetting need not cost a training."
    assert first.text.endswith("Digits: SIFU, 50%.")


def test_sifu_has_forgotten_in_no_panel_of_a_dataset_on_which_it_fails() -> None:
    plan = replace(PLAN, titles=PLAN.titles | {"c": "Faces"}, trainings={"a": "mnist", "b": "mnist", "c": "celeba"})
    rows = [standing("a", "sifu", NOT_FORGOTTEN, FORGOTTEN), *(standing(one, "sifu", None, FORGOTTEN) for one in "bc")]
    assert "forgotten in 1 of 3 scenarios, by accuracy" in key_findings(plan, rows)[1].text


def test_scenarios_by_accuracy_are_told_from_those_by_twins() -> None:
    rows = [standing("a", "sifu", FORGOTTEN, FORGOTTEN), standing("b", "sifu", None, FORGOTTEN)]
    assert "forgotten in 2 of 2 scenarios, 1 of them by accuracy" in key_findings(PLAN, rows)[1].text


def test_where_accuracy_cannot_tell_that_is_said() -> None:
    """A gap of 0.02 is as scratch's; one of 0.05 does not look good, and one that was not measured does not either."""
    rows = [
        standing("a", "tuned", NOT_FORGOTTEN, UNKNOWN, gap=0.02),
        standing("a", "sifu", NOT_FORGOTTEN, UNKNOWN, gap=0.05),
        standing("b", "sifu", NOT_FORGOTTEN, UNKNOWN, gap=math.nan),
    ]
    assert looked_good(PLAN, rows) == (
        "They look good by accuracy and fail the twin test: Digits: Fine-tuning. "
        "Accuracy cannot tell on Digits: even the original model's is close to scratch's."
    )


def test_without_a_failure_that_is_said_and_without_a_twin_test_nothing() -> None:
    said = "No method that looks good by accuracy fails the twin test."
    assert looked_good(PLAN, [standing("a", "sifu", FORGOTTEN, FORGOTTEN)]) == said
    assert looked_good(PLAN, [standing("a", "sifu", None, NOT_FORGOTTEN)]) is None


def test_both_grades_of_a_method_are_kept() -> None:
    """Accuracy on the forgotten clients: scratch 0.5, original 0.9, fine-tuning 0.52. By twins it is remembered."""
    by_name = {row.variant: row for row in standings(source({"tuned": "no", "scratch": "yes"}))}
    assert (by_name["tuned"].by_accuracy, by_name["tuned"].grade, by_name["tuned"].by) == (
        FORGOTTEN,
        NOT_FORGOTTEN,
        TWINS,
    )
    assert (by_name["sifu"].by_accuracy, by_name["sifu"].grade, by_name["sifu"].by) == (
        NOT_FORGOTTEN,
        NOT_FORGOTTEN,
        ACCURACY,
    )
    assert looked_good(PLAN, list(by_name.values())) == (
        "They look good by accuracy and fail the twin test: Digits: Fine-tuning. Variants run on the same data and not "
        "tested by twins: Digits: 1, 0 of which look good by accuracy."
    )


def source(answers: dict[str, str]) -> Results:
    """Tables of one seed and request, with the twin test's answers for some methods."""
    accuracy = {"original": 0.9, "scratch": 0.5, "tuned": 0.52, "sifu": 0.8}
    key = {"scenario": "a", "seed": 0, "request": 1, "stop": "target"}
    cost = {"status": "done", "rounds": 10, "counted_rounds": 10, "client_steps": 50, "spare_steps": 0}
    value = {"metric": "accuracy", "subset": "forgotten"}
    found = Results(PLAN)
    tables: dict[str, tuple[Any, list[dict[str, Any]]]] = {
        "cells": (CELLS, [key | cost | {"variant": name} for name in accuracy]),
        "metrics": (METRICS, [key | value | {"variant": name, "value": one} for name, one in accuracy.items()]),
        "forgetting": (
            FORGETTING,
            [
                {"scenario": "a", "request": 1, "client": -1, "twins_auc": 0.7, "variant": name, "forgotten": word}
                for name, word in answers.items()
            ],
        ),
    }
    for name, (table, rows) in tables.items():
        found.__dict__[name] = pd.DataFrame(rows, columns=[column.name for column in table.columns])
    return found
