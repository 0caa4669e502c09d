"""What rows of claims call a variant is its label in figures and tables."""

from __future__ import annotations

from sifu.docs.named import variant_labels
from sifu.replication.claims.labels import LABELS, in_words
from tests.conftest import REPO


def test_a_variant_has_one_label() -> None:
    known = variant_labels(REPO)
    assert {name: known[name] for name in LABELS} == LABELS
    assert (in_words("sifu"), in_words("sifu_released")) == ("SIFU", "SIFU, as released,")
