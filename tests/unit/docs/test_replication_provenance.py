"""How long the replication took, in words: what the time lacks is said."""

from __future__ import annotations

from sifu.docs.replication_provenance import provenance_text

LACKING = "The models of the twin test (stage `oracles`) are not in this time."


def words(*stages: str) -> str:
    block = {"scenario": "mnist", "seconds": 1.0, "commit": "0", "device": "cpu"}
    return provenance_text({"blocks": [block | {"stage": stage} for stage in stages]}, {"mnist": "MNIST"})


def test_models_that_are_not_kept_are_not_in_the_time() -> None:
    assert LACKING in words("train", "forgetting")
    assert LACKING not in words("train", "forgetting", "oracles")
    assert LACKING not in words("train")
