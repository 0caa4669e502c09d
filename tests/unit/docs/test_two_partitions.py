"""The section on CIFAR-10 with shared images and with disjoint clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.docs.replication_pages import replication_pages
from sifu.docs.two_partitions import _also_differ
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World, write_manifest


@pytest.mark.long
def test_two_partitions_stand_next_to_each_other(tmp_path: Path) -> None:
    """Scratch knows 0.3 of forgotten clients where images are shared, and nothing where they are not."""
    changed = {("cifar10", "scratch"): Outcome(forgotten=0.3)}
    world = World(("cifar10", "cifar10_disjoint"), changed, marks=PLAIN)
    write_manifest(world.write(tmp_path))
    page = replication_pages(tmp_path)["claims.md"]
    known = "| accuracy of scratch on forgotten clients | 0.300 [0.300, 0.300; t 0.300, 0.300] | 0.000 [0.000, 0.000"
    assert known in page
    always = "60.0% [60.0%, 60.0%; t 60.0%, 60.0%]"
    saved = f"| rounds saved by SIFU, as released | {always} | {always} |"
    assert saved in page.split("## Two partitions of CIFAR-10")[1]


def test_two_partitions_say_what_else_differs() -> None:
    same = {"federation": {"batches": "fresh", "spares": 3}, "stop": {"accuracy": 0.9}}
    other = same | {"federation": {"batches": "epochs", "spares": 3}}
    words = "`federation.batches` is fresh with shared images, epochs with disjoint clients."
    assert _also_differ({"cifar10": same, "cifar10_disjoint": same}) == ""
    assert _also_differ({"cifar10": same}) == ""
    assert _also_differ({"cifar10": same, "cifar10_disjoint": other}).strip().endswith(words)
