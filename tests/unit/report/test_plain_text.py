"""Labels are plain text in every file that shows them."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from matplotlib.figure import Figure

from sifu.plan.report_plan import ReportPlan
from sifu.report.html import html_table
from sifu.report.plain_text import csv_text, for_figures, markdown_text
from sifu.report.tables import latex, markdown

NUMBERS = [
    "-",
    "-0.3",
    "+1e-05",
    "-inf",
    "-0.375 [-0.250, 0.500; t -1.213, 1.963]",
    "0.5 [0.1, 0.9]",
    ">= 50",
    "2 of 3",
]
FORMULAS = [
    "=1+1",
    "+A1",
    "-SIFU",
    "@SUM(A1)",
    "-1+cmd|'/C calc'!A0",
    "-2*A1",
    '=HYPERLINK("http://x")',
    "\uff1d1+1",
    "\t=1",
]


def csv_cells(values: list[str]) -> list[str]:
    return pd.read_csv(io.StringIO(csv_text(pd.DataFrame({"a": values}))), keep_default_na=False, dtype=str)[
        "a"
    ].tolist()


def test_no_cell_of_a_csv_is_a_formula() -> None:
    assert csv_cells(FORMULAS) == [f"'{text}" for text in FORMULAS]
    assert csv_text(pd.DataFrame({"=1+1": [2]})) == "'=1+1\n2\n", "nor is the name of a column"


def test_numbers_of_a_csv_stay_as_they_are() -> None:
    assert csv_cells(NUMBERS) == NUMBERS
    table = pd.DataFrame({"a": [-0.3, 2.0], "b": [-1, 1], "c": [None, "x"], "d": [True, False]})
    assert csv_text(table) == table.to_csv(index=False)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("![x](http://x/y.png)", r"![x]\(http://x/y.png)"),
        ("a|b", r"a\|b"),
        ("`a` *b* _c_", r"\`a\` \*b\* \_c\_"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("a\nb", "a b"),
        (r"a\|b", r"a\\\|b"),
    ],
)
def test_markdown_shows_what_was_written(label: str, shown: str) -> None:
    assert f"| {shown} |" in markdown(markdown_text(pd.DataFrame({"method": [label]})), "")


def test_ordinary_words_are_left_alone() -> None:
    """So that stored tables stay as they are."""
    words = [*NUMBERS, "SIFU (strict)", "fed_eraser_released", "R&D", "FedAvg + Adam", "<= 3", "< 0.01", "budget_25"]
    table = pd.DataFrame({"a": words})
    assert markdown_text(table).equals(table)


def test_html_and_latex_escape_too() -> None:
    table = pd.DataFrame({"method": [r"<img src=x onerror=y> \input{z} 50%"]})
    assert "<img" not in html_table(table, "x")
    assert r"\input{" not in latex(table, "")


@pytest.mark.parametrize("label", ["$x^2$", r"\$5$", "$\\frac{1}{", "$$", "_hidden", "a $b"])
def test_figures_draw_labels_letter_by_letter(label: str) -> None:
    plan = for_figures(ReportPlan("x", titles={"a": label}, labels={"b": label}, changes={"c": label}))
    figure = Figure()
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], label=plan.labels["b"])
    axis.set_title(plan.titles["a"])
    axis.set_xlabel(plan.changes["c"])
    legend = axis.legend()
    figure.savefig(io.BytesIO(), format="svg")  # a formula that is none would raise here
    (text,) = legend.get_texts()
    shown, is_formula = text._preprocess_math(text.get_text())
    assert (shown.strip(), is_formula) == (label, False)
