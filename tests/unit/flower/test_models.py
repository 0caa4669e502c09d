"""Models on disk: kept once, written completely, checked when they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sifu.errors import StoreError
from sifu.flower.models import Models, digest_of

MODEL = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3), "a bias": np.ones(2), "scale": np.array(2.5)}


def test_a_model_comes_back_with_its_order_types_and_shapes(tmp_path: Path) -> None:
    models = Models(tmp_path)
    found = models.read(models.write(MODEL))
    assert list(found) == list(MODEL)
    for name, part in MODEL.items():
        assert found[name].dtype == part.dtype
        assert found[name].shape == part.shape  # also of a single number
        np.testing.assert_array_equal(found[name], part)


def test_the_same_model_is_kept_once(tmp_path: Path) -> None:
    models = Models(tmp_path)
    assert models.write(MODEL) == models.write({name: part.copy() for name, part in MODEL.items()})
    assert len(list(tmp_path.iterdir())) == 1
    assert digest_of(MODEL) != digest_of(dict(reversed(MODEL.items())))


def test_a_damaged_model_is_one_sentence(tmp_path: Path) -> None:
    models = Models(tmp_path)
    digest = models.write(MODEL)
    path = next(tmp_path.iterdir())
    whole = path.read_bytes()
    for size in (0, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(StoreError, match="is damaged"):
            models.read(digest)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(StoreError, match="its digest differs: restore it from a copy"):
        models.read(digest)
    path.unlink()
    with pytest.raises(StoreError, match="is missing: restore it from a copy"):
        models.read(digest)


def test_what_nobody_needs_is_deleted(tmp_path: Path) -> None:
    models = Models(tmp_path)
    keep, other = models.write(MODEL), models.write({"weight": np.zeros(2)})
    (tmp_path / "half.tmp").write_text("of a killed process")
    models.keep_only([keep])
    assert models.has(keep)
    assert not models.has(other)
    assert len(list(tmp_path.iterdir())) == 1
