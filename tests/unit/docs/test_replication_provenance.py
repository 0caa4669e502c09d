"""How long the replication took and which rows are older, in words: what the time lacks is said."""

from __future__ import annotations

from sifu.docs.replication_provenance import carried_note, provenance_text
from sifu.replication.manifest import CARRIED

LACKING = "The {} of the twin test (stage `oracles`) of {} are not in this time: theirs was not recorded."


def words(*jobs: tuple[str, str]) -> str:
    block = {"seconds": 1.0, "commit": "0", "device": "cpu", "models": 40}
    blocks = [block | {"stage": stage, "scenario": scenario} for stage, scenario in jobs]
    return provenance_text({"blocks": blocks}, {"mnist": "MNIST", "cifar10": "CIFAR-10"})


def test_models_that_are_not_kept_are_not_in_the_time() -> None:
    asked = [("train", "mnist"), ("forgetting", "mnist"), ("forgetting", "cifar10")]
    assert LACKING.format("models", "CIFAR-10; MNIST") in words(*asked)
    assert LACKING.format("models", "MNIST") in words(*asked, ("oracles", "cifar10"))
    assert "twin test" not in words(*asked, ("oracles", "cifar10"), ("oracles", "mnist"))
    assert "twin test" not in words(("train", "mnist"))


def test_models_without_a_time_are_counted() -> None:
    """17,100 = 225 seeds, 2 worlds, 38 variants and originals; the other scenario's are timed."""
    block = {"commit": "0", "device": "cpu", "seconds": 1.0}
    blocks = [block | {"stage": "forgetting", "scenario": name} for name in ("mnist", "cifar10")]
    blocks.append(block | {"stage": "oracles", "scenario": "mnist", "models": 2 * 225 * 38, "seconds": None})
    blocks.append(block | {"stage": "oracles", "scenario": "cifar10", "models": 10})
    said = provenance_text({"blocks": blocks}, {"mnist": "MNIST"})
    assert LACKING.format("17,100 models", "MNIST") in said
    assert "1 of 4 jobs were not timed." in said


def test_rows_of_older_rules_are_named() -> None:
    """What their certificates are worth is empty: the page says whose."""
    blocks = [{"scenario": "mnist"}, {"scenario": "cifar100", CARRIED: "0.2"}, {"scenario": "", CARRIED: "0.2"}]
    assert "carried over: CIFAR-100 (rules 0.2)." in carried_note(blocks, {"cifar100": "CIFAR-100"})
    assert carried_note(blocks[:1], {}) == ""
