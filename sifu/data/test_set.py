"""The test set, as data of clients that all seeds share."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from sifu.config.scenario import Scenario
from sifu.core.types import Clients
from sifu.data.clients import normalise
from sifu.data.dataset import Images

TEST_CHUNK = 100  # test images that are evaluated together


def load_test_set(scenario: Scenario, images: Images) -> Clients | None:
    """The test set, but for a remainder of under 100; None where the source has none."""
    test = images.test
    if test is None:
        return None
    chunk = min(TEST_CHUNK, len(test.labels))
    count = len(test.labels) // chunk * chunk
    return cut_test_set(normalise(test.pixels(np.arange(count)), scenario), torch.from_numpy(test.labels)[:count])


def cut_test_set(images: Tensor, labels: Tensor) -> Clients:
    """A test set, normalised images [N, ...] and labels [N], cut into equal "clients" that all seeds share.

    The last of them may be smaller.
    """
    chunk = min(TEST_CHUNK, len(labels))
    missing = -len(labels) % chunk
    if missing:
        images = torch.cat([images, images.new_zeros(missing, *images.shape[1:])])
    size = torch.full((1, len(images) // chunk), chunk)
    size[0, -1] -= missing
    return Clients(images.unflatten(0, (1, -1, chunk)), pad(labels, (0, missing)).view(1, -1, chunk), size)
