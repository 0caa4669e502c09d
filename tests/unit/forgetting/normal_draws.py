"""Two worlds between which nothing differs: standard normal draws."""

from __future__ import annotations

import numpy as np


def draws(models: int, points: int, key: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The same of so many models at so many points in both worlds; another key, other numbers. [models, points]"""
    first, second = np.random.default_rng([key, models]).normal(size=(2, models, points))
    return first, second
