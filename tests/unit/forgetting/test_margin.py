"""Margins: those of probabilities where these still know them, and of logits where they do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sifu.errors import SifuError
from sifu.forgetting.margin import client_margins, lowest_margins, margin, margin_tensor, stored_margin
from tests import reference_forgetting

LOGITS = st.lists(st.floats(-8, 8), min_size=2, max_size=6)


@given(LOGITS, st.data())
def test_a_margin_is_that_of_the_probability(logits: list[float], data: st.DataObject) -> None:
    """Within 1e-8 where 1 - p is at least e^-16 = 1e-7, nine digits above the rounding of p."""
    label = data.draw(st.integers(0, len(logits) - 1))
    wanted = reference_forgetting.margin(logits, label)
    assert margin(logits, label) == pytest.approx(wanted, rel=1e-8, abs=1e-8)
    found = margin_tensor(torch.tensor(logits, dtype=torch.float64), torch.tensor(label))
    assert float(found) == pytest.approx(wanted, rel=1e-8, abs=1e-8)


def test_logits_know_what_probabilities_have_lost() -> None:
    """z = (800, 0): p is 1 to the last bit, the margin is 800. With three classes ln 2 less. Float16 goes to 65,504."""
    assert margin([800.0, 0.0], 0) == 800.0
    assert margin([800.0, 0.0], 1) == -800.0
    assert margin([800.0, 0.0, 0.0], 0) == pytest.approx(800 - np.log(2), rel=1e-14)
    assert float(margin_tensor(torch.tensor([800.0, 0.0, 0.0]), torch.tensor(0))) == pytest.approx(800 - np.log(2))
    assert margin([-1e5, 1e5, 0.0], 0) == -2e5


def test_margins_are_kept_in_half_the_space() -> None:
    """Two bytes each: 11 bits, an error of 1 / 2048 at most. Beyond the range the end; a diverged model stays NaN."""
    kept = stored_margin(torch.tensor([3.14159, 1e6, -1e6, float("nan")]))
    assert kept.dtype == torch.float16
    assert kept[:3].tolist() == [pytest.approx(3.14159, rel=1 / 2048), 65504, -65504]
    assert kept[3].isnan()


def test_all_models_at_once() -> None:
    """[models, points, classes], in numpy and in torch, in float32 to its rounding."""
    random = np.random.default_rng(0)
    logits, labels = random.normal(0, 5, (3, 4, 10)), random.integers(10, size=(3, 4))
    found = margin(logits, labels)
    assert found.shape == (3, 4)
    for place in np.ndindex(3, 4):
        assert found[place] == pytest.approx(reference_forgetting.margin(logits[place].tolist(), int(labels[place])))
    single = margin_tensor(torch.tensor(logits, dtype=torch.float32), torch.tensor(labels))
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single.numpy(), found, atol=1e-5)


def test_a_client_has_the_mean_of_its_points() -> None:
    """Client 7 holds points 0 and 2 (means 2 and 20), client 3 point 1."""
    margins, owners = [[1.0, 5.0, 3.0], [10.0, 50.0, 30.0]], [7, 3, 7]
    assert client_margins(margins, owners, [3, 7]).tolist() == [[5, 2], [50, 20]]
    assert lowest_margins(margins, owners, [3, 7]).tolist() == [[5, 1], [50, 10]]


def test_a_block_of_models_changes_no_bit() -> None:
    """Margins in float16, as they are kept, of 64 models at once, in blocks, and in another order."""
    random = np.random.default_rng(0)
    margins, owners = random.normal(size=(64, 300)).astype(np.float16), random.integers(5, size=300)
    whole = client_margins(margins, owners, range(5))
    parts = [client_margins(margins[start : start + 7], owners, range(5)) for start in range(0, 64, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    order = random.permutation(64)
    np.testing.assert_array_equal(client_margins(margins[order], owners, range(5)), whole[order])
    wanted = [[np.mean([float(m) for m, own in zip(row, owners, strict=True) if own == 2])] for row in margins]
    assert whole[:, [2]] == pytest.approx(np.array(wanted))


def test_the_lowest_tenth_is_rounded_up() -> None:
    """Of 11 points the two lowest, 0 and 1."""
    assert lowest_margins([list(range(11))], [0] * 11, [0]).tolist() == [[0.5]]


def test_nonsense_is_refused() -> None:
    with pytest.raises(SifuError, match="at least 2 classes, and there are 1"):
        margin([[1.0]], [0])
    with pytest.raises(SifuError, match="client 4 has no points among the margins"):
        client_margins([[1.0]], [0], [4])
