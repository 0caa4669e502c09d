"""A submission's archive: a plain zip file, written here and read as hostile input.

Nothing in it is trusted. Its directory is measured before it is read, every name must be one that a submission can
have, and no more is unpacked than is allowed, whatever the file announces. Nothing is imported or run.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from sifu.errors import StoreError, cut
from sifu.store.parquet import atomic

MANIFEST = "submission.json"
LARGEST_ARCHIVE = 2**26  # bytes
LARGEST_FILE = 2**25
LARGEST_TOTAL = 2**28  # of all files, unpacked
MOST_FILES = 5000
_LARGEST_DIRECTORY = 2**21  # about 400 bytes a file
_NAME, _BLOCK, _MODULE = r"[a-z][a-z0-9_]{0,99}", r"s\d{3,12}-\d{3,12}", r"[A-Za-z_][A-Za-z0-9_]{0,99}"
_ALLOWED = re.compile(
    "|".join(
        (
            re.escape(MANIFEST),
            rf"(unlearn|train)/{_NAME}/{_NAME}/{_BLOCK}/cells\.parquet",
            rf"train/{_NAME}/{_BLOCK}/cells\.parquet",
            rf"search/{_NAME}/{_NAME}/{_BLOCK}/search\.parquet",
            rf"verify/{_NAME}/{_BLOCK}/(metrics|verification)\.parquet",
            rf"code(/{_MODULE}){{1,10}}\.py",
        )
    )
)
_END = struct.Struct("<4s4H2LH")  # the record at the end of a zip file: signature, ..., size of the directory, ...
_END_SIGNATURE, _LARGE_SIGNATURE, _LARGE_LENGTH = b"PK\5\6", b"PK\6\7", 20
_PLAIN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_CHUNK = 2**20


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a submission: the same bytes for the same files, whenever it is made."""
    refused = next((name for name in files if not _ALLOWED.fullmatch(name)), None)
    if refused is not None:
        raise StoreError(f"a submission cannot hold {refused}")
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name)  # with a fixed date
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, files[name])


def unpack(path: Path, folder: Path) -> dict[str, int]:
    """Write the files of an archive into an empty folder, and give back the size of each; refused as a whole."""
    _refuse_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _refuse_entries(path, entries)
            sizes: dict[str, int] = {}
            for entry in entries:
                left = min(LARGEST_FILE, LARGEST_TOTAL - sum(sizes.values()))
                sizes[entry.filename] = _write(archive, entry, folder / entry.filename, left)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise StoreError(f"{path} is no readable zip file: {cut(' '.join(str(error).split()), 200)}") from None
    except OSError as error:  # of a place before the file's beginning, or of a full disk
        raise StoreError(f"{path} cannot be unpacked: {error.strerror}") from None
    if MANIFEST not in sizes:
        raise StoreError(f"{path} has no {MANIFEST}: make it with `python -m sifu submit`")
    return sizes


def _refuse_directory(path: Path) -> None:
    """Refuse a file that is too large, or whose list of files would fill the memory while it is read."""
    if not path.is_file():
        raise StoreError(f"{path} is not a file")
    size = path.stat().st_size
    if size > LARGEST_ARCHIVE:
        raise StoreError(f"{path} has {size} bytes, expected at most {LARGEST_ARCHIVE}")
    with path.open("rb") as file:
        file.seek(max(0, size - _END.size - _LARGE_LENGTH))
        end = file.read()
    last = end[-_END.size :]
    if len(last) < _END.size or not last.startswith(_END_SIGNATURE):
        raise StoreError(f"{path} is no plain zip file: it does not end as one without a comment does")
    if end[: -_END.size].startswith(_LARGE_SIGNATURE) or _END.unpack(last)[5] > _LARGEST_DIRECTORY:
        raise StoreError(f"{path} announces a list of files that is too long")


def _refuse_entries(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Refuse names that a submission has not, names that are there twice, links, and what is packed otherwise."""
    if len(entries) > MOST_FILES:
        raise StoreError(f"{path} has {len(entries)} files, expected at most {MOST_FILES}")
    seen: set[str] = set()
    for entry in entries:
        name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
        if not _ALLOWED.fullmatch(name):
            raise StoreError(f"{path} has a file that no submission has: {cut(repr(name), 120)}")
        if name in seen:
            raise StoreError(f"{path} has {name} twice")
        if kind not in (0, stat.S_IFREG):
            raise StoreError(f"{path}: {name} is no plain file")
        if entry.compress_type not in _PLAIN_METHODS or entry.flag_bits & _ENCRYPTED:
            raise StoreError(f"{path}: {name} is encrypted, or packed by another method than deflate")
        seen.add(name)


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, limit: int) -> int:
    """Unpack one file; refused once it is longer than `limit`, whatever it announces."""
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(entry) as packed, target.open("xb") as file:
        while part := packed.read(_CHUNK):
            size += len(part)
            if size > limit:
                raise StoreError(f"{entry.filename} unpacks to more than {limit} bytes")
            file.write(part)
    return size
