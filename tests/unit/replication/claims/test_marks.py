"""Claims about data with marks: watermarks and triggers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sifu.replication.claims.stored_tables import DATASETS
from sifu.replication.claims.verdict import Verdict
from tests.claim_verdicts import claim, verdict
from tests.outcomes import Outcome
from tests.small_replication import World

HOLDS, IN_PART, FAILS, UNDECIDED, NOT_TESTABLE, NOT_RUN = Verdict
MARKS, BACKDOORS = "With watermarks", "With backdoors"


def test_a_rival_that_never_recovers_matches_nobody() -> None:
    lost = World(changes={("*", "fine_tuning"): Outcome(10, 0.0, status="not_reached")})
    assert verdict(MARKS, lost) is HOLDS
    found = claim(MARKS).measure(lost.tables())
    assert [line.scenario for line in found if line.counts] == list(DATASETS[1:]), "MNIST has no CNN"


def test_watermarks_need_all_rivals() -> None:
    tables = World().tables()
    there = tables.cells["variant"] != "fed_accum_released"
    lines = claim(MARKS).measure(replace(tables, cells=tables.cells[there]))
    assert {line.verdict for line in lines if line.counts} == {NOT_TESTABLE}


def test_who_forgets_slightly_and_is_faster_is_not_outperformed() -> None:
    """Fine-tuning takes 30 rounds, SIFU 40. Knowing 0.09 more than scratch it forgets, and SIFU, which knows
    0.02 more, is not the fastest that does, though no method matches it; knowing 0.11 more it does not forget.
    """
    forgets, keeps = (World(changes={("*", "fine_tuning"): Outcome(30, known)}) for known in (0.09, 0.11))
    assert verdict(MARKS, forgets) is FAILS
    lines = [line for line in claim(MARKS).measure(forgets.tables()) if line.scenario == "cifar10" and line.value]
    assert {line.what: line.value.mean for line in lines if line.what.startswith("seeds")} == {
        "seeds in which SIFU, as released, is the fastest method that forgets": 0.0,
        "seeds in which no other method matches SIFU, as released": 1.0,
    }
    assert verdict(MARKS, keeps) is HOLDS


def test_a_sifu_that_does_not_forget_outperforms_nobody() -> None:
    assert verdict(MARKS, World(changes={("*", "sifu_released"): Outcome(40, 0.11)})) is FAILS


@pytest.mark.second
def test_triggers_are_looked_for_where_clients_have_them() -> None:
    """SIFU answers 30 of 100 triggers on MNIST, scratch 1, fine-tuning 80; elsewhere SIFU answers as scratch does."""
    lines = claim(BACKDOORS).measure(World(changes={("mnist_backdoor", "sifu"): Outcome(40, triggers=30)}).tables())
    means = {(line.scenario, line.what): line.value.mean for line in lines if line.value is not None}
    accuse, answers = "seeds in which forgotten clients accuse {}", "triggers answered beyond scratch by {}"
    assert means["mnist", accuse.format("SIFU")] == 1
    assert means["cifar10", accuse.format("SIFU")] == means["mnist", accuse.format("scratch")] == 0
    assert means["mnist", accuse.format("Fine-tuning")] == 1
    assert means["mnist", answers.format("SIFU")] == pytest.approx(0.29)
    assert means["mnist", answers.format("Fine-tuning")] == pytest.approx(0.79)
    assert means["mnist", answers.format("FedEraser, as released")] == 0
    assert claim(BACKDOORS).judge(lines) is IN_PART


def test_scenarios_without_triggers_are_not_run() -> None:
    tables = World().tables()
    lines = claim(BACKDOORS).measure(replace(tables, checks=tables.checks.iloc[:0]))
    assert {line.verdict for line in lines if line.counts} == {NOT_TESTABLE}


def test_a_rival_that_was_run_in_fewer_seeds_is_not_beaten() -> None:
    tables = World().tables()
    there = (tables.cells["variant"] != "fine_tuning") | (tables.cells["seed"] == 0)
    lines = claim(MARKS).measure(replace(tables, cells=tables.cells[there]))
    assert {line.verdict for line in lines if line.counts} == {NOT_TESTABLE}


def test_rounds_that_nobody_can_save_are_named() -> None:
    """On MNIST scratch and SIFU end after the minimum of 50 rounds at every request; on CIFAR-10 they do not."""
    least = {("mnist_watermark", name): Outcome(50) for name in ("scratch", "sifu_released")}
    lines = claim(MARKS).measure(World(changes=least).tables())
    notes = {line.scenario: line.note for line in lines if line.what == "rounds saved by SIFU, as released"}
    assert notes["mnist"] == "both take 50 rounds at every request"
    assert notes["cifar10"] == ""
