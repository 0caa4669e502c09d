"""What rows of claims call a variant is its label in figures and tables."""

from __future__ import annotations

from sifu.docs.named import variant_labels
from sifu.replication.claims.labels import LABELS, before_verb
from tests.conftest import REPO


def test_a_variant_has_one_label() -> None:
    known = variant_labels(REPO)
    assert {name: known[name] for name in LABELS} == LABELS
    assert (before_verb("sifu"), before_verb("sifu_released")) == ("SIFU", "SIFU, as released,")
