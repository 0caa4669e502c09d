"""Distances between models of two worlds, point by point."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sifu.forgetting.distances import disagreement, jensen_shannon
from tests import reference_forgetting as plain

MARGINS = st.lists(st.floats(-30, 30), min_size=5, max_size=9)
CLASSES = st.lists(st.integers(0, 3), min_size=5, max_size=9)


@given(CLASSES, CLASSES)
def test_disagreement_is_the_share_of_pairs_that_say_different_classes(one: list[int], two: list[int]) -> None:
    wanted = np.mean([first != second for first in one for second in two])
    np.testing.assert_allclose(disagreement(np.array(one)[:, None], np.array(two)[:, None]), [wanted], atol=1e-12)


@given(MARGINS, MARGINS)
def test_jensen_shannon_is_that_of_the_loop(one: list[float], two: list[float]) -> None:
    """Rounding of 1e-16 in the divergence is 1e-8 in its root. Two coins that never agree are at distance 1."""
    found = jensen_shannon(np.array(one)[:, None], np.array(two)[:, None])
    np.testing.assert_allclose(found, [plain.jensen_shannon(one, two)], atol=1e-6)
    ends = np.full((5, 1), 30.0)
    np.testing.assert_allclose(jensen_shannon(ends, -ends), [1.0], atol=1e-6)
