"""The verdict strip in words: what was not judged can be read, and a rule has code and links."""

from __future__ import annotations

import re

from sifu.report.verdict_strip import ClaimRow, verdict_strip


def cells(verdict: str, **on: str) -> list[str]:
    row = ClaimRow("Claim", "Group", verdict, on, "By `cost`, as a [search](searches.md) chose <it>.")
    return re.findall(r'<td class="[^"]*" title="[^"]*">([^<]*)', verdict_strip([row]))


def test_what_was_not_judged_is_said_in_words() -> None:
    assert cells("holds", MNIST="holds", CelebA="not testable", CIFAR="not run") == ["✓", "n/a", "not run", "✓"]


def test_a_claim_about_no_dataset_was_not_left_out_on_them() -> None:
    assert cells("holds", MNIST="not run", CelebA="not run") == ["-", "-", "✓"]
    assert cells("not run", MNIST="not run") == ["not run", "not run"]


def test_a_rule_has_no_raw_marks() -> None:
    strip = verdict_strip(
        [ClaimRow("Claim", "Group", "holds", {}, "By `cost`, as a [search](searches.md) chose <it>.")]
    )
    assert "<p>By <code>cost</code>, as a search chose &lt;it&gt;.</p>" in strip
