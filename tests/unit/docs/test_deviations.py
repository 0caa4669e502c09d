"""Deviations from the paper whose words follow from what was run."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.docs.deviations_of_rules import _without_momentum
from sifu.docs.generated_parts import filled
from sifu.docs.replication_pages import replication_pages
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.published import CONFIG, described
from tests.conftest import REPO
from tests.small_replication import PLAIN, World, write_manifest, write_training


@pytest.mark.long
def test_data_subsets_come_first(tmp_path: Path) -> None:
    """CIFAR-10 had 15,000 of 50,000 images, MNIST all of its; of CIFAR-100 and CelebA there is no training."""
    folder = World(("mnist", "cifar10"), marks=PLAIN).write(tmp_path)
    write_manifest(folder)
    write_training(folder, "cifar10", "parquet", {"train": 15_000, "test": 2_000})
    write_training(folder, "mnist", "torchvision", {"train": 60_000, "test": 10_000})
    pages = replication_pages(tmp_path)
    index, table = pages["index.md"], pages["deviations.md"]
    words = "15,000 of 50,000 training and 2,000 of 10,000 test images (source parquet)"
    first = table.split("| # | subject |")[1].splitlines()[2]
    assert first.startswith("| 1 | Images of CIFAR-10 and CIFAR-100 |")
    assert f"| CIFAR-10: {words}; CIFAR-100: (not run) |" in first
    assert "data first.** Only a part of CIFAR-10 was used.\n" in index
    (tmp_path / "results/paper/report/tables").mkdir(parents=True, exist_ok=True)
    (tmp_path / "results/paper/report/tables/headline.csv").write_text("scenario\n")
    line = filled("<!-- docs: data --><!-- end -->", tmp_path)
    assert "Of CIFAR-10 only a part was used." in line
    assert "(docs/replication/deviations.md)" in line


def test_how_far_psi_is_a_bound_without_momentum() -> None:
    world = World(("mnist", "cifar10"), held={"": 1.0, "no_momentum": 0.7}, marks=PLAIN)
    run = MeasuredRun(REPO, described(REPO / CONFIG), None, world.tables(), {}, {})
    assert _without_momentum(run).endswith("without momentum: 70.0% on MNIST, 70.0% on CIFAR-10.")
