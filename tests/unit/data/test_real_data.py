"""The real datasets, if they are installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sifu.catalog.datasets import DATASETS
from sifu.config.scenario import Dataset
from sifu.data.dataset import load_images
from sifu.plan.load import load_scenario
from tests.conftest import REPO

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["mnist", "fashionmnist", "cifar10", "cifar100", "mnist_by_writer"])
def test_real_datasets(name: str, data_root: Path) -> None:
    spec = DATASETS[name]
    images = load_images(Dataset(name=name), data_root)
    assert images.test is not None
    assert len(np.unique(images.train.labels)) == spec.num_classes
    rows = RANDOM.choice(len(images.train.labels), 1000, replace=False)
    pixels = images.train.pixels(rows) / 255
    assert pixels.shape[1:] == spec.shape
    assert pixels.mean((0, 2, 3)) == pytest.approx(spec.mean, abs=0.02)
    assert pixels.std((0, 2, 3)) == pytest.approx(spec.std, abs=0.02)


def test_real_writers(data_root: Path) -> None:
    """539 writers in MNIST's train set, 538 of them with at least 20 digits (QMNIST's own count)."""
    groups = load_images(Dataset(name="mnist_by_writer"), data_root).train.groups
    assert groups is not None
    counts = np.unique(groups, return_counts=True)[1]
    assert len(counts) == 539
    assert (counts >= 20).sum() == 538


@pytest.mark.parametrize("name", ["mnist", "fashionmnist", "cifar10", "cifar100"])
def test_every_client_finds_images_to_check_with(name: str, data_root: Path) -> None:
    """Whatever label a client chose, the test set has `held_out` images of other classes."""
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", f"{name}_backdoor", data_root)
    test = load_images(scenario.dataset, data_root).test
    assert test is not None
    assert scenario.backdoor is not None
    largest = np.bincount(test.labels).max()
    assert len(test.labels) - largest >= scenario.backdoor.held_out
