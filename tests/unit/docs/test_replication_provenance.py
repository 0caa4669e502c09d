"""How long the replication took, in words: what the time lacks is said."""

from __future__ import annotations

from sifu.docs.replication_provenance import provenance_text

LACKING = "The models of the twin test (stage `oracles`) of {} are not in this time."


def words(*jobs: tuple[str, str]) -> str:
    block = {"seconds": 1.0, "commit": "0", "device": "cpu"}
    blocks = [block | {"stage": stage, "scenario": scenario} for stage, scenario in jobs]
    return provenance_text({"blocks": blocks}, {"mnist": "MNIST", "cifar10": "CIFAR-10"})


def test_models_that_are_not_kept_are_not_in_the_time() -> None:
    asked = [("train", "mnist"), ("forgetting", "mnist"), ("forgetting", "cifar10")]
    assert LACKING.format("CIFAR-10; MNIST") in words(*asked)
    assert LACKING.format("MNIST") in words(*asked, ("oracles", "cifar10"))
    assert "twin test" not in words(*asked, ("oracles", "cifar10"), ("oracles", "mnist"))
    assert "twin test" not in words(("train", "mnist"))
