"""The README's findings: their words follow from the tables, and the page can be read at a glance."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from sifu.docs import findings
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import share_of_scratch
from sifu.replication.published import Published
from sifu.report.totals import request_totals
from tests.claimed import PLAIN, Outcome, World
from tests.conftest import REPO

README = (REPO / "README.md").read_text()


def findings_of(root: Path, changes: Mapping[tuple[str, str], Outcome], *, without: str = "") -> list[str]:
    """The findings of MNIST alone; `without` the rows of one variant."""
    folder = World(("mnist",), changes, marks=PLAIN).write(root)
    if without:
        shutil.rmtree(folder / "unlearn" / "mnist" / without)
    return findings.findings(root, Published(folder, folder, folder)).splitlines()


def test_the_words_of_the_findings_follow_from_the_numbers(tmp_path: Path) -> None:
    """SIFU takes 40 of scratch's 100 rounds and keeps its promise; fine-tuning knows 0.6 more, FedEraser nothing."""
    starts = [
        "1. **SIFU is cheaper than training again.** It takes 40% of scratch's client steps.",
        "2. **Fine-tuning does not forget.** It takes 50%. Accuracy on the forgotten clients minus scratch's: "
        "+0.60 to +0.60.",
        "3. **FedEraser forgets, and promises nothing.**",
        "4. **SIFU's certificate covers a request.**",
    ]
    for line, start in zip(findings_of(tmp_path, {}), starts, strict=True):
        assert line.startswith(start)


def test_other_numbers_have_other_words(tmp_path: Path) -> None:
    changes = {
        ("mnist", "sifu"): Outcome(130, delta=0.02),
        ("mnist", "fine_tuning"): Outcome(50, 0.02),
        ("mnist", "fed_eraser_searched"): Outcome(80, 0.3),
    }
    heads = [line.split("**")[1] for line in findings_of(tmp_path, changes)]
    assert heads == [
        "SIFU is not always cheaper than training again.",
        "Fine-tuning forgets.",
        "FedEraser does not always forget.",
        "SIFU's certificate does not cover a request.",
    ]


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("sifu", "**SIFU was not run.**"),
        ("fine_tuning", "**Fine-tuning was not run.**"),
        ("fed_eraser_searched", "**FedEraser with searched settings was not run.**"),
        ("sifu_strict", "**Certificates were not run.**"),
    ],
)
def test_what_was_not_run_is_said(tmp_path: Path, variant: str, words: str) -> None:
    lines = findings_of(tmp_path, {}, without=variant)
    assert [line[:3] for line in lines] == ["1. ", "2. ", "3. ", "4. "]
    assert any(line.endswith(words) for line in lines)
    assert "nan" not in " ".join(lines)


def test_costs_are_those_that_claims_are_judged_by() -> None:
    changes = {("mnist", "dp_released"): Outcome(30, status="not_reached")}
    tables = World(("mnist", "cifar10"), changes, marks=PLAIN).tables()
    found = request_totals(tables.cells, tables.metrics).set_index(["scenario", "variant"])
    for scenario in ("mnist", "cifar10"):
        for variant in ("sifu", "fed_eraser_searched", "dp_released"):
            cost = Measured.of(share_of_scratch(tables, scenario, variant, "client_steps"))
            gap = Measured.of(beyond_scratch(tables, scenario, variant))
            row = found.loc[(scenario, variant)]
            assert row["compared"] == (cost.seeds if cost else 0)
            if cost is not None and gap is not None:
                assert [row["cost"], row["gap"]] == pytest.approx([cost.mean, gap.mean])


def test_the_readmes_table_has_at_most_eight_rows(tmp_path: Path) -> None:
    folder = World(("mnist",), marks=PLAIN).write(tmp_path)
    lines = findings.costs(tmp_path, Published(folder, folder, folder)).splitlines()
    assert lines[0] == "| method | MNIST |"
    assert 3 <= len(lines) - 2 <= 8
    assert "| SIFU, as released | 40%, +0.02 |" in lines


def test_the_first_screen_is_read_once() -> None:
    """Three sentences before the picture, and no sentence of more than 30 words before the table."""
    first = README.partition("<!-- docs: costs -->")[0]
    text = re.sub(r"```.*?```|<!--.*?-->|!\[.*?\]\(.*?\)|^#.*$", "", first, flags=re.DOTALL | re.MULTILINE)
    intro = README.partition("<!-- docs: overview -->")[0].partition("\n")[2]
    assert len(re.findall(r"\.(?:\s|$)", intro)) == 3
    sentences = re.split(r"(?<=\.)\s+|\n\n", text)
    assert max(len(sentence.split()) for sentence in sentences) <= 30
    assert README.count("\n") <= 120
