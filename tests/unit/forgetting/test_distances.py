"""Distances between models of two worlds, point by point."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sifu.forgetting.distances import disagreement

CLASSES = st.lists(st.integers(0, 3), min_size=5, max_size=9)


@given(CLASSES, CLASSES)
def test_disagreement_is_the_share_of_pairs_that_say_different_classes(one: list[int], two: list[int]) -> None:
    wanted = np.mean([first != second for first in one for second in two])
    np.testing.assert_allclose(disagreement(np.array(one)[:, None], np.array(two)[:, None]), [wanted], atol=1e-12)
