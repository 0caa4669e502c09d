"""Archives of others: what a submission cannot hold is refused before it is written anywhere."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from sifu.errors import StoreError
from sifu.submission import archive
from sifu.submission.archive import MANIFEST, unpack, write_archive

TABLE = "unlearn/smoke/mine/s000-001/cells.parquet"


def test_what_is_packed_is_unpacked_and_the_same_each_time(tmp_path: Path) -> None:
    files = {MANIFEST: b"{}", TABLE: b"rows", "code/mine/__init__.py": b""}
    for name in ("first.zip", "second.zip"):
        write_archive(tmp_path / name, files)
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()
    assert unpack(tmp_path / "first.zip", tmp_path / "out") == {name: len(data) for name, data in files.items()}
    assert all((tmp_path / "out" / name).read_bytes() == data for name, data in files.items())
    with pytest.raises(StoreError, match=r"cannot hold mine\.exe"):
        write_archive(tmp_path / "third.zip", {"mine.exe": b""})


@pytest.mark.parametrize(
    "name",
    [
        "../outside.json",
        "/tmp/outside.json",
        "unlearn/smoke/../../../x/s000-001/cells.parquet",
        "unlearn/smoke/mine/s000-001/weights.safetensors",
        "code/setup.cfg",
        "code/a-b.py",
        "conftest.py",
        "code/" + "a/" * 30 + "b.py",
        "unlearn/smoke/mine/s000-001/",
        "unlearn\\smoke.parquet",
        "submission.json\x1b[31m",
    ],
)
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as packed:
        packed.writestr(MANIFEST, "{}")
        packed.writestr(zipfile.ZipInfo(name), b"x")
    with pytest.raises(StoreError, match="a file that no submission has") as error:
        unpack(tmp_path / "bad.zip", tmp_path / "out")
    assert str(error.value).isprintable()
    assert not (tmp_path / "out").exists(), "nothing is written before all names are known"


def test_links_and_names_twice_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo(TABLE)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as packed:
        packed.writestr(link, "/etc/passwd")
    with pytest.raises(StoreError, match="is no plain file"):
        unpack(tmp_path / "link.zip", tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as packed:
        packed.writestr(MANIFEST, "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            packed.writestr(MANIFEST, "[]")
    with pytest.raises(StoreError, match="twice"):
        unpack(tmp_path / "twice.zip", tmp_path / "out")


def test_a_small_file_cannot_unpack_to_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither alone nor together, whatever its header says."""
    many = {f"unlearn/smoke/v{place}/s000-001/cells.parquet": bytes(600_000) for place in range(3)}
    write_archive(tmp_path / "bomb.zip", {MANIFEST: b"{}"} | many)
    assert (tmp_path / "bomb.zip").stat().st_size < 10_000
    monkeypatch.setattr(archive, "LARGEST_TOTAL", 1_000_000)
    with pytest.raises(StoreError, match="unpacks to more than"):
        unpack(tmp_path / "bomb.zip", tmp_path / "out")
    monkeypatch.setattr(archive, "LARGEST_FILE", 500_000)
    with pytest.raises(StoreError, match="unpacks to more than 500000 bytes"):
        unpack(tmp_path / "bomb.zip", tmp_path / "again")
    monkeypatch.setattr(archive, "MOST_FILES", 2)
    with pytest.raises(StoreError, match="has 4 files, expected at most 2"):
        unpack(tmp_path / "bomb.zip", tmp_path / "third")


@pytest.mark.parametrize("cut", [0, 1, 22, 40, 60])
def test_damaged_archives_are_one_sentence(tmp_path: Path, cut: int) -> None:
    write_archive(tmp_path / "whole.zip", {MANIFEST: b"{}", TABLE: b"rows" * 100})
    data = (tmp_path / "whole.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) - cut] if cut else b"")
    with pytest.raises(StoreError, match="zip file"):
        unpack(tmp_path / "cut.zip", tmp_path / "out")
    flipped = bytearray(data)
    flipped[len(MANIFEST) + 32] ^= 0xFF  # inside of the packed manifest
    (tmp_path / "flipped.zip").write_bytes(flipped)
    with pytest.raises(StoreError, match="no readable zip file"):
        unpack(tmp_path / "flipped.zip", tmp_path / f"out{cut}")


@pytest.mark.parametrize("field", [12, 16], ids=["size", "place"])
def test_a_directory_that_lies_nowhere_is_one_sentence(tmp_path: Path, field: int) -> None:
    """Its size or place, in the last 22 bytes, leads to before the file's beginning."""
    write_archive(tmp_path / "x.zip", {MANIFEST: b"{}"})
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[len(data) - 22 + field + 1] ^= 0x10
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(StoreError, match=r"x\.zip (cannot be unpacked|is no readable zip file)"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


def test_a_long_list_of_files_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(tmp_path / "plain.zip", {MANIFEST: b"{}"})
    monkeypatch.setattr(archive, "_LARGEST_DIRECTORY", 10)
    with pytest.raises(StoreError, match="a list of files that is too long"):
        unpack(tmp_path / "plain.zip", tmp_path / "out")
    with pytest.raises(StoreError, match="is not a file"):
        unpack(tmp_path, tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "comment.zip", "w") as packed:
        packed.comment = b"x" * 50
    with pytest.raises(StoreError, match="without a comment"):
        unpack(tmp_path / "comment.zip", tmp_path / "out")
