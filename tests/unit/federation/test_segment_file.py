"""History files of somebody else: what does not fit together is refused in one sentence."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from sifu import RULES_VERSION
from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation.segment_file import read_history, write_segment
from sifu.federation.stop import Stop
from sifu.store.provenance import provenance
from sifu.store.tensors import read_tensors, write_tensors
from tests.conftest import tiny_engine
from tests.memory import bounded_memory

Change = Callable[[dict[str, Any], dict[str, Tensor]], object]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    engine, keys = tiny_engine(), Keys.of(range(2))
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    segment = engine.run(engine.model.init(keys), everyone, keys.fold("train"), Stop(None, 0, torch.tensor([5, 3])))
    path = tmp_path_factory.mktemp("history") / "history.safetensors"
    write_segment(path, segment, provenance("train", {}, "code", "cpu"))
    return path


CHANGES: dict[str, tuple[Change, str]] = {
    "a tensor is missing": (lambda h, t: t.pop("final"), "is not a history: it has the tensors"),
    "a tensor too many": (lambda h, t: t.update(more=torch.zeros(1)), "is not a history"),
    "another shape": (lambda h, t: t.update(final=t["final"][:, :-1]), "damaged: final is torch.float32 of shape"),
    "another rank": (lambda h, t: t.update(rounds=t["rounds"][:, None]), "damaged: rounds is torch.int64 of shape"),
    "another type": (lambda h, t: t.update(available=t["available"].float()), "damaged: available is torch.float32"),
    "not finite": (lambda h, t: t["final"].fill_(torch.nan), "damaged: final has a number that is not finite"),
    "no finite norm": (lambda h, t: t["trace.distance"].fill_(torch.inf), "trace.distance has a number that is not"),
    "a negative norm": (
        lambda h, t: t["trace.update_norm"].fill_(-1.0),
        "trace.update_norm is a length, and has a num",
    ),
    "too many rounds": (lambda h, t: t["rounds"].fill_(99), r"damaged: it has 5 rounds, and says \[99, 99\]"),
    "negative rounds": (lambda h, t: t["rounds"].fill_(-1), r"and says \[-1, -1\]"),
    "a stranger": (lambda h, t: t["trace.cohort"].fill_(4), "names a client that is none of 4"),
    "status": (lambda h, t: h.update(status=["done", "great"]), "its status is not one of done"),
    "status of one": (lambda h, t: h.update(status=["done"]), "its status is not one of done"),
    "status of none": (lambda h, t: h.update(status=None), "its status is not one of done"),
    "snapshots": (lambda h, t: h.update(snapshot_every=2), "it has 0 snapshots of 5 rounds"),
    "no number": (lambda h, t: h.update(snapshot_every=True), "snapshots of 5 rounds"),
    "evaluations": (lambda h, t: h.update(evaluations=[[0, 1, 0.5]]), "its evaluations are not rows"),
    "a late evaluation": (lambda h, t: h.update(evaluations=[[0, 10**30, 0.5, None]]), "its evaluations are not rows"),
    "eight bits": (lambda h, t: t.update(final=t["final"].to(torch.float8_e4m3fn)), "final is torch.float8_e4m3fn"),
    "an accuracy of 7": (lambda h, t: h.update(evaluations=[[0, 1, 7.0, None]]), "its evaluations are not rows"),
    "rules": (lambda h, t: h.update(rules_version="0.0"), r"made under the rules 0\.0"),
    "no rules": (lambda h, t: h.pop("rules_version"), "made under the rules none"),
    "settings": (lambda h, t: h.update(settings="[1]"), "with which settings it was made"),
    "no settings": (lambda h, t: h.pop("settings"), "with which settings it was made"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_history_is_refused(history: Path, tmp_path: Path, name: str) -> None:
    change, message = CHANGES[name]
    header, tensors = read_tensors(history)
    change(header, tensors)
    path = tmp_path / "history.safetensors"
    write_tensors(path, tensors, header)
    with pytest.raises(StoreError, match=message):
        read_history(path)


def test_the_header_is_a_mapping(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    for text in ("[]", "3", "null", '{"checksum": 0}', "[" * 100_000, "1" * 5000):
        save_file({"a": torch.zeros(1)}, tmp_path / "x.safetensors", {"sifu": text})
        with pytest.raises(StoreError, match=r"is damaged, its checksum|is not a readable safetensors"):
            read_history(tmp_path / "x.safetensors")


def test_tensors_are_counted_before_they_are_read(tmp_path: Path) -> None:
    """300,000 of no size at all took a minute."""
    path, place = tmp_path / "x.safetensors", {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    text = json.dumps({"__metadata__": {"sifu": "{}"}} | {f"t{n}": place for n in range(40_000)}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(StoreError, match="it has 40000 tensors, expected at most 32768"):
        read_history(path)


def test_a_long_header_is_not_read(tmp_path: Path) -> None:
    """45 MB of empty mappings took a gigabyte."""
    path, text = tmp_path / "x.safetensors", b'{"__metadata__":{"sifu":"[' + b"{}," * 6_000_000 + b'{}]"}}'
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    with bounded_memory(50), pytest.raises(StoreError, match=r"its header has \d+ bytes, expected at most 16777216"):
        read_history(path)


def test_an_unchanged_history_is_read(history: Path) -> None:
    assert read_history(history).segment.rounds.tolist() == [5, 3]
    assert read_tensors(history)[0]["rules_version"] == RULES_VERSION
