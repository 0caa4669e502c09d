"""Refusals: what may have been meant, or what is known to be wrong, comes before what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.catalog.methods import METHODS
from sifu.config.known import known
from sifu.errors import ConfigError, did_you_mean
from sifu.plan.load import load_suite
from tests.conftest import REPO

NAMES = [f"name_{number:02d}" for number in range(90)]


def test_a_close_match_comes_first_and_a_long_list_is_cut() -> None:
    """90 names of 7 letters and 89 commas are 808 characters; 80 of them are shown."""
    sentence = str(ConfigError("variants", "nme_00", f"one of {', '.join(NAMES)}", did_you_mean("nme_00", NAMES)))
    assert sentence.startswith("variants: 'nme_00' is refused (did you mean name_00?); allowed: one of name_00, ")
    assert sentence.endswith(", ...")
    assert len(sentence.partition("allowed: ")[2]) <= 80


def test_without_a_hint_all_names_are_there() -> None:
    assert all(name in str(ConfigError("variants", "zzz", ", ".join(NAMES))) for name in NAMES)


def test_a_short_list_is_whole() -> None:
    sentence = str(ConfigError("device", "gpu", "auto | cpu | cuda", did_you_mean("gpu", ["auto", "cpu", "cuda"])))
    assert sentence == "device: 'gpu' is refused (did you mean cuda?); allowed: auto | cpu | cuda"


def test_a_hint_is_kept_where_a_key_gets_its_path() -> None:
    refusal = ConfigError("device", "gpu", "auto", " (did you mean auto?)").inside("run")
    assert str(refusal) == "run.device: 'gpu' is refused (did you mean auto?); allowed: auto"


def test_a_misspelt_variant_of_a_config() -> None:
    with pytest.raises(ConfigError) as caught:
        load_suite({"scenarios": ["smoke"], "variants": ["scratch", "sifuu"]}, REPO / "config", {})
    assert str(caught.value).startswith("variants: 'sifuu' is refused (did you mean sifu?); allowed: one of original,")
    assert len(str(caught.value)) < 200


def test_a_plugin_with_an_error_of_syntax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place comes first, and not all methods that there are."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "outside_wrong.py").write_text("x = (\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "variants.yaml").write_text("mine: {label: Mine, method: 'outside_wrong:Mine'}\n")
    with pytest.raises(ConfigError) as caught:
        load_suite({"scenarios": ["smoke"], "variants": ["scratch", "mine"]}, tmp_path / "config", {})
    first = f"variants.mine.method: 'outside_wrong:Mine' is refused ({tmp_path / 'outside_wrong.py'}, line 1: "
    assert str(caught.value).startswith(first)
    assert len(known(METHODS).text) > 300, "all methods are many"
    assert len(str(caught.value)) < len(first) + 200
