"""How differently two models answer, and which retrainings are compared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax

from sifu.errors import SifuError
from sifu.forgetting.disagreement import disagreement, jensen_shannon_distance, neighbours


def test_other_labels_are_counted() -> None:
    """Two models, four points: the second differs in one."""
    first = np.eye(3)[[[0, 1, 2, 0], [0, 1, 2, 0]]]
    second = np.eye(3)[[[0, 1, 2, 0], [0, 1, 2, 1]]]
    assert disagreement(first, second).tolist() == [0.0, 0.25]


def test_the_distance_is_scipys_averaged_over_points() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(0, 3, (2, 4, 5, 10))
    found = jensen_shannon_distance(first, second)
    wanted = jensenshannon(softmax(first, -1), softmax(second, -1), base=2, axis=-1).mean(-1)
    assert found == pytest.approx(wanted, rel=1e-7)
    assert jensen_shannon_distance(first, first) == pytest.approx(np.zeros(4), abs=1e-7)
    assert jensen_shannon_distance(second, first) == pytest.approx(found)


def test_certain_and_different_answers_are_one_apart() -> None:
    """Also where a probability is 0: e^-2000."""
    assert jensen_shannon_distance([[2000.0, 0.0]], [[0.0, 2000.0]]) == pytest.approx(1)


def test_scratch_is_compared_with_the_next_seed() -> None:
    """Seeds 5, 1, 3: after 1 comes 3 (row 2), after 3 comes 5 (row 0), after 5 comes 1 (row 1)."""
    assert neighbours([5, 1, 3]).tolist() == [1, 2, 0]
    with pytest.raises(SifuError, match="there is one seed"):
        neighbours([4])
    with pytest.raises(SifuError, match="the same points in the same classes"):
        disagreement(np.zeros((2, 3)), np.zeros((2, 4)))
