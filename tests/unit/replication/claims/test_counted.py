"""How a claim's datasets are counted in words."""

from __future__ import annotations

import pytest

from sifu.replication.claims.claim import Line
from sifu.replication.claims.counted import counted
from sifu.replication.claims.verdict import Verdict

HOLDS, PART, OPEN, FAILS, NOT_RUN = (
    *(Verdict.HOLDS, Verdict.IN_PART, Verdict.UNDECIDED),
    *(Verdict.FAILS, Verdict.NOT_RUN),
)


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        ((HOLDS, HOLDS), "2 of 2 hold"),
        ((HOLDS,), "1 of 1 holds"),
        ((PART, PART), "0 hold, 2 in part, of 2"),
        ((FAILS,), "0 hold, 1 does not, of 1"),
        ((HOLDS, PART, OPEN, FAILS, FAILS), "1 holds, 1 in part, 1 undecided, 2 do not, of 5"),
        ((NOT_RUN,), "none judged"),
    ],
)
def test_every_dataset_that_was_judged_is_in_the_words(verdicts: tuple[Verdict, ...], text: str) -> None:
    names = ("mnist", "fashionmnist", "cifar10", "cifar100", "celeba")
    lines = [Line(name, "rounds", None, verdict) for name, verdict in zip(names, verdicts, strict=False)]
    assert counted(lines).held_text == text


def test_a_dataset_that_was_run_in_vain_is_not_called_untested() -> None:
    lines = [Line("mnist", "rounds", None, HOLDS), Line("celeba", "rounds", None, Verdict.NOT_TESTABLE)]
    titles = {"celeba": "CelebA", "cifar10": "CIFAR-10"}
    assert counted(lines).not_judged(titles) == "CelebA (not comparable)"
    lines.append(Line("cifar10", "rounds", None, NOT_RUN))
    assert counted(lines).not_judged(titles) == "CIFAR-10 (not run); CelebA (not comparable)"
    assert counted(lines[:1]).not_judged(titles) == "none"
