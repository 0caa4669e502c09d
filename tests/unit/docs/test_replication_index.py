"""The first page of the replication says where an average leaves seeds out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sifu.docs.replication_index import _recovered
from sifu.replication.claims.claim import Line
from sifu.replication.claims.measured import Measured


def run_with(**seeds: int) -> Any:
    """Each dataset was run with five seeds, of which so many have a number."""
    lines = {
        name: Line(name, "saved", Measured(0.5, 0.4, 0.6, count) if count else None, None, "share", ran=5)
        for name, count in seeds.items()
    }
    return SimpleNamespace(averaged=lambda what: lines, titles={name: name.upper() for name in seeds})


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ({"mnist": 5, "cifar10": 5}, ""),
        ({"mnist": 5, "fashionmnist": 3}, "; of seeds that recover: 3 of 5 on FASHIONMNIST"),
        ({"fashionmnist": 3, "celeba": 4}, "; of seeds that recover: 3 of 5 on FASHIONMNIST and 4 of 5 on CELEBA"),
    ],
)
def test_an_average_says_which_seeds_it_leaves_out(seeds: dict[str, int], words: str) -> None:
    """A seed that never gets back to the target has no rounds to compare: without this it would only look good."""
    assert _recovered(run_with(**seeds), "saved") == words
