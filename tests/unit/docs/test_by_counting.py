"""What docs/certificates.md says of audits: a table a scenario, its time, and who is refuted."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from sifu import RULES_VERSION
from sifu.docs.by_counting import proved_by_counting
from sifu.replication.published import Published
from sifu.report.audits import audit_table
from tests.conftest import REPO

LABELS = {"sifu": "SIFU", "last": "Last"}


def published(root: Path, proved: dict[str, float], other_began: float = 189.0) -> Published:
    """A replication whose audit of MNIST took 90 s from second 100 on, with the epsilon that it proves of promises of
    10; another job began in its last second.
    """
    rows = [
        {"scenario": "mnist", "variant": name, "request": 1, "clients": 10, "covers": 10, "delta": 0.01, "models": 5000}
        | {"claimed_epsilon": 10.0, "strict_epsilon": 800.0, "measured_epsilon": 17.0, "proved_epsilon": epsilon}
        | {"most_provable": 10.03, "hits": 5000, "alarms": 0, "statistic": "loss"}
        | {"verdict": "refuted" if epsilon > 10 else "not refuted"}
        for name, epsilon in proved.items()
    ]
    if rows:
        audit_table(pd.DataFrame(rows), LABELS).to_csv(root / "audit.csv", index=False)
    block = {"stage": "audit", "scenario": "mnist", "device": "NVIDIA H200", "began": 100.0, "seconds": 90.0}
    other = block | {"stage": "train", "began": other_began, "seconds": 20.0}
    head = {"rules_version": RULES_VERSION, "seeds": [0], "scenarios": {}, "variants": {}}
    manifest = head | {"blocks": [block, other, block | {"scenario": "mnist_single", "began": None}]}
    (root / "manifest.json").write_text(json.dumps(manifest))
    (root / "config").symlink_to(REPO / "config")
    return Published(root, root, root)


@pytest.mark.parametrize(
    ("proved", "refuted"),
    [({"sifu": 10.02, "last": 3.0}, "Refuted: SIFU."), ({"sifu": 3.0, "last": 3.0}, "No promise is refuted.")],
)
def test_the_table_has_a_row_a_method_and_says_who_is_refuted(
    tmp_path: Path, proved: dict[str, float], refuted: str
) -> None:
    head, rows, end = proved_by_counting(tmp_path, published(tmp_path, proved)).split("\n\n")
    assert head == "MNIST, epsilons at delta 0.01, counted within 2 minutes (NVIDIA H200, shared with other jobs):"
    assert rows.splitlines()[3] == "| Last | 1 | 10 | 10 together | 10 | 800 | 17 | 3 | 10 | 5,000 |"
    assert end == f"{refuted} 5,000 models can refute 2 of these 2 promises."


def test_too_few_models_and_promises_to_others_cannot_be_refuted(tmp_path: Path) -> None:
    """7.2 is below the promised 10; and a promise to each client alone says nothing about ten of them."""
    run = published(tmp_path, {"sifu": 7.2, "last": 3.0, "scratch": 3.0})
    table = pd.read_csv(tmp_path / "audit.csv", dtype=str)
    table.loc[0, "at most"], table.loc[1, "promise to"] = "7.2", "each alone"
    table.to_csv(tmp_path / "audit.csv", index=False)
    assert proved_by_counting(tmp_path, run).endswith("5,000 models can refute 1 of these 3 promises.")


def test_why_no_promise_could_be_refuted(tmp_path: Path) -> None:
    """All of 7.2 is below the promised 10; or all are promises to each alone, and ten clients left."""
    run = published(tmp_path, {"sifu": 7.2, "last": 3.0})
    table = pd.read_csv(tmp_path / "audit.csv", dtype=str)
    table.assign(**{"at most": "7.2"}).to_csv(tmp_path / "audit.csv", index=False)
    words = "No promise is refuted, and none could be: "
    limit = "5,000 models prove at most epsilon 7.2, below the claimed 10."
    assert proved_by_counting(tmp_path, run).endswith(words + limit)
    table.assign(**{"promise to": "each alone"}).to_csv(tmp_path / "audit.csv", index=False)
    alone = "where so many models prove enough, several clients leave at once, and the promise is to each alone."
    assert proved_by_counting(tmp_path, run).endswith(words + alone)


def test_large_numbers_have_no_exponent(tmp_path: Path) -> None:
    run = published(tmp_path, {"sifu": 3.0})
    table = pd.read_csv(tmp_path / "audit.csv", dtype=str)
    table.assign(strict="9.16e+04", measured="-").to_csv(tmp_path / "audit.csv", index=False)
    assert "| 10 | 91,600 | - | 3 | 10 | 5,000 |" in proved_by_counting(tmp_path, run)


@pytest.mark.parametrize(("began", "shared"), [(189.0, True), (191.0, False), (70.0, False), (81.0, True)])
def test_a_gpu_that_was_shared_is_said(tmp_path: Path, began: float, shared: bool) -> None:
    """The audit took seconds 100 to 190, the other job 20 seconds."""
    head, *_ = proved_by_counting(tmp_path, published(tmp_path, {"sifu": 3.0}, began)).split("\n")
    assert ("shared with other jobs" in head) is shared


def test_without_an_audit_it_says_so(tmp_path: Path) -> None:
    assert proved_by_counting(tmp_path, published(tmp_path, {})) == "No audit has been run yet."
