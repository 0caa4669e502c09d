"""Clients and marks as the paper's repository makes them, draw for draw, by NumPy's old generator.

- Every client draws its examples with replacement, so clients overlap, and a client may hold an example twice.
- Shares of classes are rounded down, and the last class gets the rest.
- Where images are marked, the mark of client i sets the generator to 42 + (i mod 10). So the draws of client i + 1 are
  those of client i + 11: with one class a client, they hold the same examples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from sifu.data.dataset import Labels, Pixels
from sifu.errors import DataError

GROUPS = 10  # client i has the mark of i mod 10
_MARKS = 42  # the generator of group k begins with this number plus k
_PIXELS = 10  # that are marked


def one_class_shares(num_clients: int, num_classes: int) -> NDArray[np.float64]:
    """Client i holds the class i mod num_classes. [C, classes]"""
    return np.eye(num_classes)[np.arange(num_clients) % num_classes]


def dirichlet_shares(num_clients: int, num_classes: int, alpha: float, generator: RandomState) -> NDArray[np.float64]:
    """Every client's shares of the classes. [C, classes]"""
    return generator.dirichlet([alpha] * num_classes, size=num_clients)


def draw_clients(
    labels: Labels,
    shares: NDArray[np.float64],
    examples: int,
    generator: RandomState,
    marked: tuple[int, ...] | None,
) -> dict[int, Labels]:
    """The rows of every client; `marked`: the shape of an image, (height, width) or (height, width, channels), if its
    images are marked while they are drawn.
    """
    pools = [np.flatnonzero(labels == label) for label in range(shares.shape[1])]
    rows: dict[int, Labels] = {}
    for client, share in enumerate(shares):
        counts = (share * examples).astype(int)
        counts[-1] = examples - counts[:-1].sum()
        rows[client] = np.concatenate(
            [_draw(pool, count, generator) for pool, count in zip(pools, counts, strict=True)]
        )
        if marked is not None:
            list(_places(generator, client % GROUPS, marked))
    return rows


def _draw(pool: Labels, count: int, generator: RandomState) -> Labels:
    if count and not len(pool):
        raise DataError("a class has no examples: a partition with replacement needs some of every class")
    return generator.choice(pool, count) if len(pool) else pool


def mark_places(group: int, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The marked numbers of an image of this shape: one channel of each pixel; some may coincide."""
    return list(_places(RandomState(), group, shape))


def _places(generator: RandomState, group: int, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    generator.seed(_MARKS + group)
    for _ in range(_PIXELS):
        yield tuple(int(generator.randint(side)) for side in shape)


def mark_images(pixels: Pixels, group: int) -> Pixels:
    """A copy of images [n, C, H, W] with the marked numbers of a group set to each image's own maximum."""
    marked, largest = pixels.copy(), pixels.reshape(len(pixels), -1).max(1)
    for line, column, *channel in mark_places(group, image_shape(pixels.shape[1:])):
        marked[:, channel[0] if channel else 0, line, column] = largest
    return marked


def image_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """(channels, height, width) as the repository has an image: channels last, and none of grey images."""
    channels, height, width = shape
    return (height, width) if channels == 1 else (height, width, channels)
