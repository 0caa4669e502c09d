"""Parts of a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.plan.part import is_chosen

RESULTS, SEEDS = Path("results/paper"), range(10)
TRAIN = "results/paper/train/mnist/s005-009/cells.parquet"
SEARCH = "results/paper/search/mnist/dp_released/s1000000-1000001/search.parquet"
ATLAS = "results/paper/atlas/cifar10/c000-024/atlas.parquet"


@pytest.mark.parametrize("file", [TRAIN, SEARCH, ATLAS])
def test_without_a_choice_all_are_chosen(file: str) -> None:
    assert is_chosen(file, RESULTS, SEEDS, None, None)


@pytest.mark.parametrize(("scenario", "chosen"), [("mnist", True), ("mnist_twins", False)])
def test_a_scenario_is_the_folder_below_the_stage(scenario: str, chosen: bool) -> None:
    assert is_chosen(TRAIN, RESULTS, SEEDS, [scenario], None) == chosen


@pytest.mark.parametrize(("seeds", "chosen"), [(1, False), (5, False), (6, True), (10, True)])
def test_a_block_begins_with_one_of_the_first_seeds(seeds: int, chosen: bool) -> None:
    """The block of seeds 5 to 9 begins with the sixth."""
    assert is_chosen(TRAIN, RESULTS, SEEDS, None, seeds) == chosen
    later = TRAIN.replace("s005-009", "s105-109")
    assert is_chosen(later, RESULTS, range(100, 110), None, seeds) == chosen


@pytest.mark.parametrize("file", [SEARCH, ATLAS])
def test_seeds_apart_and_clients_do_not_count(file: str) -> None:
    assert is_chosen(file, RESULTS, SEEDS, None, 1)
