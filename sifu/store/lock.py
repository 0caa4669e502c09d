"""One process at a time in a folder of results.

If Snakemake is killed, its jobs may go on. A job that is started again waits for the old one, so that they do not both
write into the folder.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from sifu.store.paths import LOCK


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process works in `folder`, and lock it. If it cannot be locked, print that and continue.

    The lock is on a file that is open for reading and writing, which NFS requires. The file is never removed: otherwise
    a process that waits for the old file and one that creates a new file would both hold a lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            _lock(stack.enter_context(open_lock(folder / LOCK)), folder)
        except OSError as error:
            note = "a job of a killed run that still works there is not waited for"
            print(f"{folder} cannot be locked ({error.strerror}): {note}", file=sys.stderr, flush=True)
        yield  # closing the file, or the end of the process, releases the lock


def open_lock(path: Path) -> IO[bytes]:
    """A file to lock; one that is a link is not followed, which may lead to any file of the user."""
    return open(path, "ab+", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))


def _lock(file: IO[bytes], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another process works in {folder}: waiting for it", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
