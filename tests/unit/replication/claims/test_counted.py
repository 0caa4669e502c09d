"""How a claim's datasets are counted in words."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sifu.replication.claims.claim import Line, with_verdict
from sifu.replication.claims.counted import Average, claim_in_short, counted
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import FED_ERASER_TAKES_MORE, TAKES_AS_CLAIMED
from sifu.replication.claims.stored_tables import EXAMPLE
from sifu.replication.claims.verdict import Verdict

HOLDS, PART, OPEN, FAILS, NOT_RUN, NOT_TESTABLE = (
    *(Verdict.HOLDS, Verdict.IN_PART, Verdict.UNDECIDED),
    *(Verdict.FAILS, Verdict.NOT_RUN, Verdict.NOT_TESTABLE),
)
NAMES = ("mnist", "fashionmnist", "cifar10", "cifar100", "celeba")
TITLES = {"mnist": "MNIST", "fashionmnist": "Fashion", "cifar10": "CIFAR-10", "celeba": "CelebA"}


def in_short(
    verdicts: tuple[Verdict, ...], whole: Verdict, *, adjusted_away: bool = False, average: Average | None = None
) -> str:
    lines = [Line(name, "rounds", None, verdict) for name, verdict in zip(NAMES, verdicts, strict=False)]
    return counted(lines).in_short(whole, TITLES, adjusted_away=adjusted_away, average=average)


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
    assert in_short((HOLDS, FAILS), HOLDS, average=Average(HOLDS)) == f"**holds on average**; {words}"
    found = in_short((HOLDS, FAILS), OPEN, average=Average(HOLDS), adjusted_away=True)
    assert found == f"**undecided on average** once adjusted for many claims; {words}"


def taking_more(*extra: float) -> list[Line]:
    """A line a dataset, each with a range around its own share, and their average."""
    parts = [pd.Series([share - 0.01, share, share + 0.01]) for share in extra]
    lines = [
        with_verdict(Line(name, "extra", Measured.of(part)), TAKES_AS_CLAIMED)
        for name, part in zip(NAMES, parts, strict=False)
    ]
    return [*lines, Line("", "extra", Measured.of_datasets(parts))]


def test_the_average_has_its_own_verdict_and_what_is_missing_lowers_the_full_rule() -> None:
    """FedEraser's 12% hold on average; a dataset that was not run, or a seed of one, is said next to it."""
    claim, lines = FED_ERASER_TAKES_MORE, taking_more(0.11, 0.12)
    by_dataset = "; by dataset: holds on both judged"
    assert claim_in_short(claim, lines, claim.judge(lines), TITLES) == f"**holds on average**{by_dataset}"
    lines.append(Line("celeba", "extra", None, NOT_RUN))
    assert claim.judge(lines) is PART
    start = "**holds on average** (in part by the full rule: CelebA is missing"
    assert claim_in_short(claim, lines, PART, TITLES) == f"{start}){by_dataset}"
    lines[1] = replace(lines[1], ran=4)
    words = claim_in_short(claim, lines, PART, TITLES)
    assert words == f"{start}, seeds of Fashion are missing){by_dataset}"


def test_a_claim_about_no_dataset_names_none() -> None:
    example = counted([Line(EXAMPLE, "distance", None, HOLDS)])
    assert example.in_short(HOLDS, TITLES, adjusted_away=False) == "**holds**"


def test_a_dataset_that_was_run_in_vain_is_not_called_untested() -> None:
    lines = [Line("mnist", "rounds", None, HOLDS), Line("celeba", "rounds", None, NOT_TESTABLE)]
    assert counted(lines).not_judged(TITLES) == "CelebA (not comparable)"
    lines.append(Line("cifar10", "rounds", None, NOT_RUN))
    assert counted(lines).not_judged(TITLES) == "CIFAR-10 (not run); CelebA (not comparable)"
    assert counted(lines[:1]).not_judged(TITLES) == "none"
