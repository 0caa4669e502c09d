"""Whether results can be written, found out before any job starts, without leaving anything behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from sifu.errors import StoreError


def refuse_unwritable(results: str, stages: Iterable[str]) -> None:
    """Refuse a folder of results, or one of its stages' folders, that is a file or cannot be written."""
    for folder in (Path(results), *(Path(results) / stage for stage in stages)):
        try:
            with tempfile.TemporaryFile(dir=_existing(folder)):  # is gone when it is closed
                pass
        except OSError as error:
            advice = "mend that, or name another folder by `results` of the config"
            raise StoreError(f"results cannot be written to {folder} ({error.strerror}): {advice}") from None


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists; a file or a broken link in the way is an error."""
    for path in (folder, *folder.parents):
        if path.is_dir():
            return path
        if path.is_symlink():
            raise OSError(0, f"{path} is a link to nothing")
        if path.exists():
            raise OSError(0, f"{path} is a file")
    return Path()
