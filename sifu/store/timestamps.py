"""Repairs results dated in the future, by another machine's clock: Snakemake would run all later stages again."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

_SECONDS = 2.0  # tolerated: clocks of file systems and machines may differ by this much


def clamp_future_timestamps(folder: str) -> int:
    """Set the date of all files under `folder` that are dated in the future to now. Returns their number."""
    now, changed = time.time(), 0
    for entry in _files(folder):
        with contextlib.suppress(OSError):  # deleted meanwhile, or owned by another user
            if entry.stat().st_mtime > now + _SECONDS:
                os.utime(entry.path, (now, now))
                changed += 1
    return changed


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield entry
