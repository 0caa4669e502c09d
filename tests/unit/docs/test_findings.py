"""The README's findings: their words follow from the tables, and the page can be read at a glance."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from sifu.docs import findings
from sifu.docs.totals_in_words import unanswered
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import share_of_scratch
from sifu.replication.published import Published
from sifu.report.totals import request_totals
from tests.conftest import REPO
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World, write_manifest

README = (REPO / "README.md").read_text()
TITLES = {"mnist": "MNIST"}


def findings_of(
    root: Path,
    changes: Mapping[tuple[str, str], Outcome],
    *,
    without: str = "",
    scenarios: tuple[str, ...] = ("mnist",),
    unmeasured: tuple[str, ...] = (),
) -> list[str]:
    """The findings of MNIST, or of some `scenarios`; `without` the rows of one variant. `unmeasured`: scenarios
    without accuracies.
    """
    folder = World(scenarios, changes, marks=PLAIN).write(root)
    if without:
        shutil.rmtree(folder / "unlearn" / "mnist" / without)
    for name in unmeasured:
        shutil.rmtree(folder / "verify" / name)
    return findings.findings(root, Published(folder, folder, folder)).splitlines()


def test_the_words_of_the_findings_follow_from_the_numbers(tmp_path: Path) -> None:
    """SIFU takes 40 of scratch's 100 rounds and keeps its promise; fine-tuning knows 0.6 more, FedEraser nothing."""
    starts = [
        "1. **SIFU is cheaper than training again.** As the text describes it, SIFU takes 40% of scratch's client "
        "steps (1 dataset).",
        "2. **Fine-tuning does not forget.** It takes 50% of scratch's client steps (1 dataset). Its accuracy on "
        "forgotten clients is 0.60 to 0.60 above scratch's (1 dataset).",
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
        "SIFU's certificate cannot be shown to hold.",
    ]


def test_each_sifu_has_its_own_bound(tmp_path: Path) -> None:
    """Beyond scratch's by 0.012 as the text describes it, and by 0.078 as its code has it: rounded up."""
    changes = {("mnist", "sifu"): Outcome(50, 0.012), ("mnist", "sifu_released"): Outcome(40, 0.078)}
    sifu = findings_of(tmp_path, changes)[0]
    assert (
        "SIFU takes 50% of scratch's client steps (1 dataset). Its accuracy on forgotten clients is within 0.02 of "
        in sifu
    )
    code = (
        "As the paper's code has it, SIFU takes 40% (1 dataset), with an accuracy on forgotten clients within 0.08 of "
    )
    assert f"{code}scratch's." in sifu


def test_what_noise_alone_saves_is_said(tmp_path: Path) -> None:
    """109 rounds of scratch's 100 on MNIST, 58 on CIFAR-10, 76 on CelebA."""
    start = "Blurred scratch, a retraining from a noised start that keeps nothing of the training, saves"
    rounds = {"mnist": 109, "cifar10": 58, "celeba": 76}
    changes = {(name, "blurred_scratch"): Outcome(count) for name, count in rounds.items()}
    sifu = findings_of(tmp_path / "three", changes, scenarios=tuple(rounds))[0]
    assert sifu.endswith(
        f"{start} 24% to 42% of scratch's client steps on CIFAR-10 and CelebA. On MNIST it saves nothing."
    )
    one = findings_of(tmp_path / "one", {("mnist", "blurred_scratch"): Outcome(60)})[0]
    assert one.endswith(f"{start} 40% of scratch's client steps on MNIST.")
    assert findings_of(tmp_path / "none", {})[0].endswith(f"{start} nothing (MNIST).")
    assert "Blurred scratch" not in findings_of(tmp_path / "not", {}, without="blurred_scratch")[0]


def test_costs_count_where_accuracy_was_not_measured(tmp_path: Path) -> None:
    """CIFAR-10 has costs and no accuracies: a cost is a range over both datasets, a gap is MNIST's alone."""
    changes = {("cifar10", "sifu"): Outcome(30, 0.5), ("cifar10", "fed_eraser_searched"): Outcome(55)}
    both = ("mnist", "cifar10")
    sifu, tuned, eraser, _ = findings_of(tmp_path, changes, scenarios=both, unmeasured=("cifar10",))
    assert "As the text describes it, SIFU takes 30% to 40% of scratch's client steps (2 datasets)." in sifu
    assert "Its accuracy on forgotten clients is within 0.02 of scratch's (1 dataset)." in sifu
    assert "It takes 50% of scratch's client steps (2 datasets)." in tuned
    assert tuned.endswith("is 0.60 to 0.60 above scratch's (1 dataset).")
    assert "it takes 55% to 112% of scratch's client steps (2 datasets)." in eraser


def test_forgetting_that_was_not_measured_is_no_finding(tmp_path: Path) -> None:
    lines = findings_of(tmp_path, {}, unmeasured=("mnist",))
    assert sum("Whether it forgets was not measured." in line for line in lines) == 3
    assert "SIFU takes 40% (1 dataset). Blurred" in lines[0], "no bound where nothing was measured"
    assert "forgets," not in " ".join(lines)
    assert "nan" not in " ".join(lines)


def test_a_certificate_may_hold_for_single_clients_alone(tmp_path: Path) -> None:
    line = findings_of(tmp_path, {("mnist", "sifu"): Outcome(40, 0.02, delta=0.005, together=0.9)})[3]
    assert line.startswith("4. **SIFU's certificate cannot be shown to cover a request.**")
    assert "It promises to each client alone: by a strict count the noise is too small in 0% of the answers." in line
    assert "For all clients of a request together it is too small in 100%" in line


def test_where_requests_are_not_answered_is_said() -> None:
    found = [("mnist", 3, 3), ("cifar10", 0, 5), ("cifar100", 2, 5), ("celeba", 0, 5)]
    rows = pd.DataFrame(found, columns=["scenario", "compared", "seeds"]).assign(variant="sifu")
    titles = {"mnist": "A", "cifar10": "B", "cifar100": "C", "celeba": "D"}
    words = "in no seed of B and D, and in only 2 of 5 seeds of C"
    assert unanswered(rows, titles) == f" It answers every request {words}."
    assert unanswered(rows[:2], titles) == " It answers every request in no seed of B."
    assert unanswered(rows[:1], titles) == ""
    why = "(rows without the clipping of the paper's code)."
    assert unanswered(rows[:2], titles, {("cifar10", "sifu")}).endswith(f"of B {why}")
    assert unanswered(rows[:2], titles, {("cifar10", "last")}).endswith("of B."), "another method's rows"


def test_how_a_clipped_sweep_recovers_is_said_where_the_same_methods_rows_were_not(tmp_path: Path) -> None:
    """CIFAR-10's rows of SIFU as released lack the clipping, CIFAR-100's have it; both sweeps have it, too."""
    folder, clipped = World(("cifar10", "cifar100"), {}, marks=PLAIN).write(tmp_path), ("sweep", "sifu_released")
    blocks = [
        {"stage": stage, "scenario": name, "variant": variant, "settings": settings}
        for name, (stage, variant), settings in (
            *(("cifar10", clipped, "new"), ("cifar100", clipped, "new"), ("cifar100", ("unlearn", "last"), "old")),
            *(("cifar10", ("unlearn", "sifu_released"), "old"), ("cifar100", ("unlearn", "sifu_released"), "new")),
        )
    ]
    settings = {name: {"federation": {"clip": clip}} for name, clip in (("old", None), ("new", 1e4))}
    write_manifest(folder, blocks=blocks, block_settings=settings)
    words = findings.data(tmp_path, Published(folder, folder, folder))
    assert "There SIFU as released recovers on CIFAR-10 in" in words
    assert "recovers on CIFAR-100" not in words


def test_what_is_left_of_marks_is_said(tmp_path: Path) -> None:
    """Accuracy on forgotten clients beyond scratch's where they carry marks: 0.3 and 0.5."""
    found = {("mnist_watermark", "sifu"): Outcome(40, 0.3), ("cifar10_backdoor", "sifu"): Outcome(40, 0.5)}
    sifu = findings_of(tmp_path, found, scenarios=("mnist", "mnist_watermark", "cifar10_backdoor"))[0]
    assert sifu.startswith("1. **SIFU is cheaper than training again, but traces of the clients remain.**")
    assert "watermarks or backdoors, it is 0.30 to 0.50 above scratch's (2 scenarios)." in sifu


def test_the_readme_has_the_numbers_alone_that_a_head_needs(tmp_path: Path) -> None:
    """At most 70 words a finding, each sentence of which stands in the full one; links of that lead from docs."""
    folder = World(("mnist",), {}, marks=PLAIN).write(tmp_path)
    run = Published(folder, folder, folder)
    full, short = (of(REPO, run) for of in (findings.findings_in_full, findings.findings_in_short))
    for whole, few in zip(full.splitlines(), short.splitlines(), strict=True):
        assert len(few.split()) <= 70
        for sentence in few.replace("](docs/", "](").split(". "):
            assert sentence.rstrip(".") in whole
    assert "](docs/" in short
    assert "](docs/" not in full


def test_marks_that_are_gone_leave_no_traces(tmp_path: Path) -> None:
    found = {("mnist_watermark", "sifu"): Outcome(40, -0.02), ("cifar10_backdoor", "sifu"): Outcome(40, 0.05)}
    sifu = findings_of(tmp_path, found, scenarios=("mnist", "mnist_watermark", "cifar10_backdoor"))[0]
    assert sifu.startswith("1. **SIFU is cheaper than training again.**")
    assert "watermarks or backdoors, it is -0.02 to +0.05 off scratch's (2 scenarios)." in sifu


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


def test_the_first_screen_is_read_once() -> None:
    """Three sentences before the picture, and no sentence of more than 30 words before the table."""
    first = README.partition("<!-- docs: costs -->")[0]
    pictures = r"<picture>.*?</picture>|!\[.*?\]\(.*?\)"
    text = re.sub(rf"```.*?```|<!--.*?-->|{pictures}", "", first, flags=re.DOTALL)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)  # a heading ends with its line
    intro = README.partition("<!-- docs: overview -->")[0].partition("\n")[2]
    assert len(re.findall(r"\.(?:\s|$)", intro)) == 3
    sentences = re.split(r"(?<=\.)\**\s+|\n\n", text)
    assert len(sentences) > 20, "the findings are among them"
    assert max(len(sentence.split()) for sentence in sentences) <= 30
    assert README.count("\n") <= 120
