"""Lines that name the line before them: whatever is changed, removed or cut off is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sifu.errors import StoreError
from sifu.flower.chain import FIRST, Chain


def written(path: Path, lines: int = 4) -> Chain:
    chain = Chain(path)
    for number in range(lines):
        chain.append("step", number=number)
    return chain


def test_a_chain_is_read_as_it_was_written(tmp_path: Path) -> None:
    chain = written(tmp_path / "log")
    again = Chain(tmp_path / "log")
    assert again.entries == chain.entries
    assert again.head == chain.head != FIRST
    assert [body["number"] for body in again.of_kind("step")] == [0, 1, 2, 3]
    assert Chain(tmp_path / "none").head == FIRST


@pytest.mark.parametrize("change", ["edit", "remove", "swap", "insert", "garbage"])
def test_a_changed_line_is_refused_in_one_sentence(change: str, tmp_path: Path) -> None:
    written(path := tmp_path / "log")
    lines = path.read_text().splitlines()
    if change == "edit":
        parts = json.loads(lines[1])
        parts["body"]["number"] = 7
        lines[1] = json.dumps(parts)
    elif change == "remove":
        del lines[1]
    elif change == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    elif change == "insert":
        lines.insert(1, lines[0])
    else:
        lines[1] = lines[1][:20]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(StoreError, match=r"line 2 of .*log is damaged or was changed: restore the file"):
        Chain(path)


def test_half_a_line_did_not_happen(tmp_path: Path) -> None:
    """A process that is killed while it writes leaves one; the next line takes its place."""
    written(path := tmp_path / "log")
    whole = path.read_bytes()
    for size in range(1, 60, 7):
        path.write_bytes(whole[:-size])
        chain = Chain(path)
        assert [entry.body["number"] for entry in chain.entries] == [0, 1, 2]
        assert not chain.is_whole
        chain.append("step", number=3)
        assert path.read_bytes() == whole
