"""Where power has no unit there are no rows; what the rows say is compared in test_columns.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sifu.stages.power import power_rows


def cell(spread: float) -> Any:
    """Twelve oracles a world, each with one margin on 3 clients' points, whose mean has this spread over seeds."""
    seeds = np.random.default_rng(0).normal(scale=spread, size=(24, 1))
    margins = (2 + seeds + np.zeros((1, 3))).astype(np.float32)
    worlds = {"client": margins[:12], "twin": margins[12:]}
    return SimpleNamespace(
        models=lambda variant, world: SimpleNamespace(margins=worlds[world]),
        points_of=lambda owner: np.array([0 if owner == "client" else 1]),
        owners=lambda owner: np.arange(3),
        remaining=[2],
    )


@pytest.mark.parametrize(("spread", "rows"), [(0.0, False), (1e-6, False), (0.1, True)])
def test_models_that_no_seed_moves_have_no_standard_deviation(spread: float, rows: bool) -> None:
    """An effect is counted in standard deviations over seeds: of half floats, 1e-6 is the rounding of the margins."""
    assert bool(power_rows(cell(spread))) == rows
