"""What rows of claims call a variant is its label in figures and tables."""

from __future__ import annotations

from sifu.docs.named import variant_labels
from sifu.replication.claims.catalog import CLAIMS
from sifu.replication.claims.labels import LABELS, in_words
from tests.conftest import REPO
from tests.small_replication import PLAIN, World


def test_a_variant_has_one_label() -> None:
    known = variant_labels(REPO)
    assert {name: known[name] for name in LABELS} == LABELS
    assert (in_words("sifu"), in_words("sifu_released")) == ("SIFU", "SIFU, as released,")


def test_a_label_in_the_middle_of_a_sentence_ends_in_a_comma() -> None:
    tables = World(("mnist",), marks=PLAIN).tables()
    names = {line.what for claim in CLAIMS for line in claim.measure(tables)}
    assert "accuracy of Last, as released, on remaining clients, below scratch's" in names
    assert [name for name in names for label in LABELS.values() if "," in label and f"{label} " in name] == []
