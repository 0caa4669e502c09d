"""A tiny federation as arrays, and settings with which it is trained in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np

import sifu

CLASSES, FEATURES = 3, 5
SIZES = (6, 9, 7, 8)
QUICK: dict[str, Any] = {
    "target": 0.99,
    "min_rounds": 2,
    "max_rounds": 4,
    "seeds": [0, 1],
    "device": "cpu",
    "progress": False,
}


def features() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Clients of different sizes; a label is the largest of the first features."""
    draws = np.random.default_rng(1)
    images = [draws.normal(size=(size, FEATURES)) for size in SIZES]
    return images, [own[:, :CLASSES].argmax(1) for own in images]


def trained(**changes: Any) -> sifu.Training:
    return sifu.train(*features(), **(QUICK | changes))
