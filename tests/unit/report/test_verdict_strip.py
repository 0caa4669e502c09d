"""The verdict strip in words: what was not judged can be read, and a rule has code and links."""

from __future__ import annotations

import re

from sifu.report.verdict_strip import ClaimRow, verdict_strip


def cells(verdict: str, **on: str) -> list[str]:
    row = ClaimRow("Claim", "Group", verdict, on, "By `cost`, as a [search](searches.md) chose <it>.")
    return re.findall(r'<td class="[^"]*" title="[^"]*">([^<]*)', verdict_strip([row]))


def test_what_was_not_judged_is_said_in_words() -> None:
    assert cells("holds", MNIST="holds", CelebA="not testable", CIFAR="not run") == ["✓", "n/a", "not run", "✓"]


def test_a_claim_that_does_not_speak_of_a_dataset_was_not_left_out_there() -> None:
    assert cells("holds", MNIST="holds", CelebA="not part of the claim") == ["✓", "-", "✓"]


def test_why_all_that_holds_may_be_undecided_is_said() -> None:
    """The row shows ✓ on each dataset, and ? at its end."""
    row = ClaimRow("Claim", "Group", "undecided", {"MNIST": "holds"}, "Rule.", "Words.", "On 1.", adjusted_away=True)
    strip = verdict_strip([row])
    assert 'title="undecided once adjusted for many claims"' in strip
    assert "<p>Words.<p>On 1.<p>Rule.</details>" in strip


def test_a_rule_has_no_raw_marks() -> None:
    strip = verdict_strip(
        [ClaimRow("Claim", "Group", "holds", {}, "By `cost`, as a [search](searches.md) chose <it>.")]
    )
    assert "<p>By <code>cost</code>, as a search chose &lt;it&gt;.</details>" in strip
