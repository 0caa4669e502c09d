"""Backdoors: a share of a client's examples has a trigger and a label that the client chose.

A model that was trained on the client's data answers the trigger with that label, also on held-out images; any other
model ignores the trigger. So a client can check by queries whether it was forgotten (Sommer et al. 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from sifu.catalog.datasets import DATASETS
from sifu.config.partition import Backdoor
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.data.dataset import Images, Labels, Pixels, Split
from sifu.data.watermark import stamp
from sifu.errors import DataError


@dataclass(frozen=True)
class Triggers:
    """The triggers and labels that the clients of one seed chose."""

    backdoor: Backdoor
    key: Keys  # of the seed
    pixels: Labels  # [C, k] pixel numbers, row by row
    target: Labels  # [C] the label of the trigger

    def places(self, client: int, size: int) -> NDArray[np.bool_]:
        """Which of a client's examples carry its trigger: a share of them, at least one, drawn at random. [n]"""
        order = self.key.fold("backdoor", client, "places").permutation(size).numpy()
        chosen = np.zeros(size, np.bool_)
        chosen[order[: max(1, round(self.backdoor.share * size))]] = True
        return chosen

    def check_rows(self, client: int, rows: Labels, labels: Labels) -> Labels:
        """The images that a client checks with: drawn from `rows`, none of the class of its own label."""
        others, count = rows[labels[rows] != self.target[client]], self.backdoor.held_out
        if len(others) < count:
            raise DataError(
                f"only {len(others)} held-out images are available, backdoor.held_out asks for {count}: "
                "give the clients fewer examples, or take a dataset with a test set"
            )
        order = self.key.fold("backdoor", client, "checks").permutation(len(others))
        return others[order[:count].numpy()]


def draw_triggers(scenario: Scenario, seed: int) -> Triggers | None:
    """Draw a set of pixels and a label for each client of a seed; None without a backdoor."""
    backdoor = scenario.backdoor
    if backdoor is None:
        return None
    _, height, width = DATASETS[scenario.dataset.name].shape
    key = Keys.of([seed]).rows(0)
    keys = key.fold("backdoor").each(torch.arange(scenario.partition.num_clients))
    order = keys.fold("pixels").permutation(height * width)  # [C, H * W]
    target = (keys.fold("target").uniform(1).squeeze(-1) * scenario.num_classes).long()  # [C]
    return Triggers(backdoor, key, order[:, : backdoor.pixels].numpy(), target.numpy())


def poison(pixels: Pixels, labels: Labels, triggers: Triggers, client: int) -> tuple[Pixels, Labels]:
    """Copies of a client's images [n, C, H, W] and labels [n], some of them with its trigger and its label."""
    images, answers, places = pixels.copy(), labels.copy(), triggers.places(client, len(labels))
    images[places] = stamp(pixels[places], triggers.pixels[client])
    answers[places] = triggers.target[client]
    return images, answers


def held_out_rows(images: Images, partition: pd.DataFrame, seed: int) -> tuple[Split, Labels]:
    """Held-out images: the test set, or without one, the train images that no client of the seed holds."""
    if images.test is not None:
        return images.test, np.arange(len(images.test.labels))
    held = partition.loc[partition["seed"] == seed, "row"].to_numpy()
    return images.train, np.setdiff1d(np.arange(len(images.train.labels)), held)
