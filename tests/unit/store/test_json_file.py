"""Small files of somebody else next to the tables: manifests, times, counts of audits, plans."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sifu.cli.main import main
from sifu.errors import StoreError
from sifu.replication.published import read_manifest
from sifu.stages.audit_counts import Count, StoredCounts
from sifu.store.json_file import read_json
from sifu.store.timing import JobTime, read_job_time
from tests.conftest import one_sentence
from tests.memory import bounded_memory

BAD = [
    "",
    "[]",
    "3",
    "[" * 100_000,
    '{"a": ' * 100_000,
    "9" * 5000,
    '{"a": NaN}',
    '{"a": Infinity}',
    '{"a": 1e999}',
    "\xff",
    "{",
]


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:12])
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("manifest.json", "time.json"):
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(StoreError, match=r"manifest\.json cannot be read"):
        read_manifest(tmp_path)
    assert read_job_time(tmp_path) == JobTime(None, None)
    assert main(["report", "--plan", str(tmp_path / "manifest.json")]) == 2
    assert "--plan: " in one_sentence(capsys)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(StoreError, match="it is no file"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize("seconds", ["1e999", "-1", "9" * 400, '"x"', "[]", "null"])
def test_times_that_cannot_be_are_not_known(tmp_path: Path, seconds: str) -> None:
    (tmp_path / "time.json").write_text(f'{{"began": 1.0, "seconds": {seconds}}}')
    assert read_job_time(tmp_path) == JobTime(None, None)


@pytest.mark.parametrize("text", ["{}", '{"rules_version": 1}', '{"rules_version": "0.3", "seeds": []}'])
def test_a_manifest_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(StoreError, match="is not a manifest: it has no"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "text", ['{"a": 3}', '{"a": [1, 2]}', '{"a": [3, 5, 0]}', '{"a": [3, -1, 0]}', '{"a": [1.5, 1, 1]}']
)
def test_counts_of_something_else_are_refused(tmp_path: Path, text: str) -> None:
    counts = StoredCounts(tmp_path, "code")
    assert counts.get("batch", lambda: {"a": Count(3, 2, 1)}) == {"a": Count(3, 2, 1)}
    (path,) = tmp_path.iterdir()
    assert counts.get("batch", dict) == {"a": Count(3, 2, 1)}
    path.write_text(text)
    with pytest.raises(StoreError, match="does not hold counts of an audit"):
        counts.get("batch", dict)


def test_a_long_file_is_not_read(tmp_path: Path) -> None:
    """Empty mappings take thirty times as much memory as they have letters."""
    (tmp_path / "x.json").write_bytes(b'{"a": [' + b"{}," * 6_000_000 + b"{}]}")
    with bounded_memory(50), pytest.raises(StoreError, match="it is no file of at most 16777216 bytes"):
        read_json(tmp_path / "x.json")
