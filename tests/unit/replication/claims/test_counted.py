"""How a claim's datasets are counted in words."""

from __future__ import annotations

import pytest

from sifu.replication.claims.claim import Line
from sifu.replication.claims.counted import counted
from sifu.replication.claims.stored_tables import EXAMPLE
from sifu.replication.claims.verdict import Verdict

HOLDS, PART, OPEN, FAILS, NOT_RUN, NOT_TESTABLE = (
    *(Verdict.HOLDS, Verdict.IN_PART, Verdict.UNDECIDED),
    *(Verdict.FAILS, Verdict.NOT_RUN, Verdict.NOT_TESTABLE),
)
NAMES = ("mnist", "fashionmnist", "cifar10", "cifar100", "celeba")
TITLES = {"mnist": "MNIST", "fashionmnist": "Fashion", "cifar10": "CIFAR-10", "celeba": "CelebA"}


def in_short(
    verdicts: tuple[Verdict, ...], whole: Verdict, *, adjusted_away: bool = False, by_average: bool = False
) -> str:
    lines = [Line(name, "rounds", None, verdict) for name, verdict in zip(NAMES, verdicts, strict=False)]
    return counted(lines).in_short(whole, TITLES, adjusted_away=adjusted_away, by_average=by_average)


@pytest.mark.parametrize(
    ("verdicts", "whole", "text"),
    [
        ((HOLDS, HOLDS, HOLDS), PART, "**holds on all 3 judged**"),
        ((HOLDS, HOLDS, NOT_RUN), PART, "**holds on both judged**"),
        ((HOLDS, NOT_RUN), PART, "**holds on MNIST, the only one judged**"),
        ((PART, PART), PART, "**in part on both judged**"),
        ((FAILS,), FAILS, "**does not hold on MNIST, the only one judged**"),
        ((FAILS, FAILS), FAILS, "**does not hold on any of the 2 judged**"),
        ((HOLDS, PART, HOLDS), PART, "**holds on 2 of 3**, in part on Fashion"),
        ((FAILS, FAILS, HOLDS), PART, "**holds on 1 of 3**, not on MNIST, Fashion"),
        ((OPEN, FAILS), OPEN, "**undecided**: undecided on 1 of 2, not on Fashion"),
        ((HOLDS, FAILS, FAILS), FAILS, "**does not hold**: holds on 1 of 3, not on Fashion, CIFAR-10"),
        ((PART, FAILS), NOT_TESTABLE, "**in part on 1 of 2**, not on Fashion, too few for a verdict"),
        ((HOLDS, HOLDS), OPEN, "**holds on both judged**; by the rule of the claim: undecided"),
        ((NOT_RUN,), NOT_TESTABLE, "**not testable**"),
    ],
)
def test_every_dataset_that_was_judged_is_in_the_words(
    verdicts: tuple[Verdict, ...], whole: Verdict, text: str
) -> None:
    assert in_short(verdicts, whole) == text


def test_what_the_correction_for_many_claims_took_away_is_said() -> None:
    words = ", but undecided once adjusted for many claims"
    assert in_short((HOLDS, HOLDS), OPEN, adjusted_away=True) == f"**holds on both judged**{words}"
    assert in_short((HOLDS, FAILS), OPEN, adjusted_away=True) == f"**holds on 1 of 2**, not on Fashion{words}"


def test_of_a_claim_about_an_average_that_comes_first() -> None:
    words = "by dataset: holds on 1 of 2, not on Fashion"
    assert in_short((HOLDS, FAILS), HOLDS, by_average=True) == f"**holds on average**; {words}"
    found = in_short((HOLDS, FAILS), OPEN, by_average=True, adjusted_away=True)
    assert found == f"**undecided on average** once adjusted for many claims; {words}"


def test_a_claim_about_no_dataset_names_none() -> None:
    example = counted([Line(EXAMPLE, "distance", None, HOLDS)])
    assert example.in_short(HOLDS, TITLES, adjusted_away=False) == "**holds**"


def test_a_dataset_that_was_run_in_vain_is_not_called_untested() -> None:
    lines = [Line("mnist", "rounds", None, HOLDS), Line("celeba", "rounds", None, NOT_TESTABLE)]
    assert counted(lines).not_judged(TITLES) == "CelebA (not comparable)"
    lines.append(Line("cifar10", "rounds", None, NOT_RUN))
    assert counted(lines).not_judged(TITLES) == "CIFAR-10 (not run); CelebA (not comparable)"
    assert counted(lines[:1]).not_judged(TITLES) == "none"
