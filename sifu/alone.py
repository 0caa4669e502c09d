"""One process at a time in a folder of results.

Jobs outlive a Snakemake that was killed. One that is started again waits for such a job, instead of writing between it.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process is at work in `folder`; where a file system has no locks, go on without."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)  # which ends the lock, as the end of the process does


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another process is at work in {folder}: waiting for it", file=sys.stderr, flush=True)
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # none here
        return
