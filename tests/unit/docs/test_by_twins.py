"""What the pages say of the twin test: sentences and heads of the README, and the table of docs/forgetting.md."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sifu.docs import findings
from sifu.docs.by_twins import TwinTest, forgotten_by_twins, forgotten_in_short, in_sentences
from sifu.docs.forgetting import allowed_auc
from sifu.plan.report_plan import Job, ReportPlan
from sifu.replication.claims.stored_tables import read_tables
from sifu.replication.published import Published
from sifu.report.results import Results
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from tests.conftest import REPO
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World

Answers = dict[str, tuple[float, str]]


def published(root: Path, answers: Answers, share_high: float = 1.1) -> Published:
    """A replication on MNIST, with the AUC by twins and the answer of some variants; the costs of the federation with
    twins are those of MNIST: SIFU takes 40 of scratch's 100 rounds, fine-tuning 50, FedEraser 112.
    """
    changes = {("mnist_twins", "scratch"): Outcome(cut=0)}
    folder = World(("mnist", "mnist_twins"), changes, marks=PLAIN).write(root)
    rows = [
        {"scenario": "mnist_twins", "variant": name, "request": 1, "client": client, "models": 200}
        | {"retrain_auc": 0.9, "retrain_p": 0.5, "twins_auc": auc, "twins_null": 0.03, "twins_shift": 1.0}
        | {"share": 1.0, "share_low": 0.9, "share_high": share_high, "relearn": None}
        | {"reached": 200, "forgotten": forgotten}
        for name, (auc, forgotten) in answers.items()
        for client in (-1, 0)
    ]
    table = pd.DataFrame(rows, columns=[column.name for column in FORGETTING.columns])
    path = folder / "forgetting" / "mnist_twins" / "s000-199" / "forgetting.parquet"
    write_table(path, FORGETTING, table, provenance("test", {}, "0", "cpu"))
    return Published(folder, folder, folder)


def heads(root: Path, answers: Answers) -> list[str]:
    return [line.split("**")[1] for line in findings.findings(root, published(root, answers)).splitlines()[:3]]


def test_the_twin_test_decides_whether_a_method_forgets(tmp_path: Path) -> None:
    """By accuracy SIFU and FedEraser forget in this world (tests/unit/docs/test_findings.py)."""
    remembered = {"sifu": (1.0, "no"), "fine_tuning": (1.0, "no"), "fed_eraser_searched": (0.97, "no")}
    assert heads(tmp_path, remembered) == [
        "SIFU is cheaper than training again, but traces of the clients remain.",
        "Fine-tuning does not forget.",
        "FedEraser does not always forget.",
    ]
    forgotten = {"sifu": (0.51, "yes"), "fed_eraser_searched": (0.52, "yes")}
    assert heads(tmp_path, forgotten) == [
        "SIFU is cheaper than training again.",
        "Fine-tuning does not forget.",
        "FedEraser forgets, and promises nothing.",
    ]


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ([], ""),
        (
            [("MNIST, twins", 0.997, "no", 1.0, 0.005)],
            "its clients are still found after the first request (MNIST, twins: AUC 0.997).",
        ),
        (
            [("MNIST, twins", 0.51, "yes", 0.6, 0.04), ("CIFAR-10, twins", 0.9, "no", 0.9, 0.005)],
            "its clients are forgotten after the first request (MNIST, twins: AUC 0.510), though its models are told "
            "from retrained ones (AUC 0.60). By the twin test its clients are still found after the first request "
            "(CIFAR-10, twins: AUC 0.900).",
        ),
        (
            [("MNIST, twins", 0.51, "yes", 0.55, 0.06)],
            "its clients are forgotten after the first request (MNIST, twins: AUC 0.510).",
        ),
        (
            [("MNIST, twins", 1.0, "no", 1.0, 0.005), ("CIFAR-10, twins", 0.9, "no", 0.9, 0.005)],
            "its clients are still found after the first request (MNIST, twins: AUC 1.000; CIFAR-10, twins: AUC "
            "0.900).",
        ),
        (
            [("MNIST, twins", 0.56, "cannot tell", 0.5, 0.5)],
            "it cannot be told after the first request (MNIST, twins: AUC 0.560).",
        ),
    ],
)
def test_a_sentence_names_federations_and_numbers(
    tests: list[tuple[str, float, str, float, float]], words: str
) -> None:
    sentence = in_sentences([TwinTest(*test) for test in tests])
    assert sentence == (f" By the twin test {words}" if words else "")
    explained = in_sentences([TwinTest(*test) for test in tests], explained=True)
    assert explained.count("[twin test](docs/forgetting.md)") == explained.count("0.5 is chance") == bool(tests)
    assert (
        explained.replace("[twin test](docs/forgetting.md)", "twin test").replace("; an AUC of 0.5 is chance", "")
        == sentence
    )


def test_stored_answers_are_read_by_the_rule_of_today(tmp_path: Path) -> None:
    """Both where claims and pages read them, and where a report does: a share up to 1.25 is no certain yes."""
    folder = published(tmp_path, {"sifu": (0.46, "yes"), "fine_tuning": (1.0, "no")}, share_high=1.25).folder
    plan = ReportPlan(str(folder), jobs={"forgetting": [Job("mnist_twins", "s000-199")]})
    for rows in (read_tables(folder).forgetting, Results(plan).forgetting):
        assert rows.groupby("variant")["forgotten"].unique().map(list).to_dict() == {
            "sifu": ["cannot tell"],
            "fine_tuning": ["no"],
        }


def test_the_table_has_those_that_forget_first_and_the_cheapest_of_them_on_top(tmp_path: Path) -> None:
    """SIFU, 40% of scratch's steps, remembers; of the others fine-tuning is cheaper than FedEraser. FedAccum overshot.
    Rows of single clients are left out.
    """
    answers = {"fed_accum": (0.0, "no"), "sifu": (1.0, "no"), "fed_eraser_searched": (0.52, "yes")}
    text = forgotten_by_twins(tmp_path, published(tmp_path, answers | {"fine_tuning": (0.5, "yes")}))
    head = "MNIST, twins (`mnist_twins`), after the first request, 200 models a world (by twins: null 0.50 +- 0.03):"
    assert text.startswith(head)
    rows = [line.split(" | ") for line in text.splitlines()[4:]]
    assert [row[0].strip("| ") for row in rows] == [
        "Fine-tuning",
        "FedEraser, dt and r searched",
        "SIFU",
        "FedAccum",
    ]
    assert [row[1] for row in rows[:3]] == ["50%", "112%", "40%"]
    assert [row[7] for row in rows] == ["yes", "yes", "no", "no (overshot)"]


def test_in_short_the_answer_comes_first_and_names_who_forgot(tmp_path: Path) -> None:
    """Scratch uses no round of the training, FedEraser some. NoT remembers and is none of the paper's: not shown. The
    original model is no variant.
    """
    answers = {
        "scratch": (0.5, "yes"),
        "fed_eraser_searched": (0.52, "yes"),
        "sifu": (1.0, "no"),
        "negation": (0.0, "no"),
    }
    answers |= {"original": (1.0, "no"), "fats_05": (0.5, "cannot tell"), "fed_accum": (0.0, "no")}
    head, names, table = forgotten_in_short(tmp_path, published(tmp_path, answers)).split("\n\n")
    where = "MNIST, twins (`mnist_twins`), after the first request, with 200 models a world"
    assert head == f"**On {where}: 2 of 6 variants forgot, 3 did not, 1 cannot be judged.**"
    assert names.splitlines() == [
        "- 1 forgot with rounds of the training: FedEraser, dt and r searched",
        "- 1 forgot by starting again: Scratch",
    ]
    answered = {row.split(" | ")[0].strip("| "): row.split(" | ")[-1].strip("| ") for row in table.splitlines()[2:]}
    assert set(answered) == {"Scratch", "FedEraser, dt and r searched", "FATS, rho 0.5", "SIFU", "FedAccum"}
    assert answered["FedAccum"] == "no (overshot)"


def test_a_promise_that_is_kept_still_allows_much() -> None:
    """Gaussians mu apart with (10, 0.01): Phi(mu / sqrt(2)), and 2 mu between twins. mu = 2.86 by the analytic bound:
    Phi(2.02) = 0.978, Phi(4.04) = 1.000.
    """
    first, second = allowed_auc(REPO).split("; ")
    assert first == "(10, 0.01) allows 0.978 against retraining and 1.000 between twins"
    assert second.startswith("(1, 0.01) allows 0.")


def test_without_twins_there_is_a_sentence(tmp_path: Path) -> None:
    run = published(tmp_path, {})
    for part in (forgotten_by_twins, forgotten_in_short):
        assert part(tmp_path, run) == "No federation with twins has been run yet."
