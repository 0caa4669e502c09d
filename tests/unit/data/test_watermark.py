"""Watermarks: ten pixels at the maximum, a different set for each client."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.config.partition import Watermark
from sifu.core.keys import Keys
from sifu.data.watermark import pixel_sets, stamp

KEY = Keys.of([0]).rows(0)


@pytest.mark.parametrize("channels", [1, 3])
def test_exactly_the_marked_pixels_change_in_every_channel(channels: int) -> None:
    images = np.full((4, channels, 6, 5), 7, np.uint8)
    marked = np.array([0, 11, 29])
    stamped = stamp(images, marked)
    changed = np.argwhere(stamped != images)
    assert (images == 7).all(), "the original must stay as it is"
    assert len(changed) == 4 * channels * 3
    assert {int(row * 5 + column) for _, _, row, column in changed} == {0, 11, 29}
    assert (stamped[stamped != 7] == 255).all()


@given(st.integers(0, 10**6), st.integers(1, 50))
def test_sets_are_distinct_pixels_and_depend_on_the_client_alone(seed: int, pixels: int) -> None:
    key = Keys.of([seed]).rows(0)
    sets = pixel_sets(Watermark(pixels=pixels), 784, 20, key)
    assert sets.shape == (20, pixels)
    assert all(len(set(row)) == pixels for row in sets)
    assert np.array_equal(sets[:5], pixel_sets(Watermark(pixels=pixels), 784, 5, key))


def test_per_client_differs_and_per_group_is_shared() -> None:
    own = pixel_sets(Watermark(per="client"), 784, 20, KEY)
    assert len({tuple(sorted(row)) for row in own.tolist()}) == 20
    shared = pixel_sets(Watermark(per="group"), 784, 20, KEY)
    assert np.array_equal(shared[:10], shared[10:])
    assert len({tuple(sorted(row)) for row in shared.tolist()}) == 10
