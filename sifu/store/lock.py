"""One process at a time in a folder of results.

Jobs outlive a Snakemake that was killed. One that is started again waits for such a job, instead of writing between it.
"""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from sifu.store.paths import LOCK


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process is at work in `folder`; where nothing can be locked, say so and go on without.

    What is locked is a file that is open for reading and writing: NFS takes nothing less. It stays when all is done. If
    it were removed, a process that waits for it and one that makes a new one would both be alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            _lock(stack.enter_context((folder / LOCK).open("ab+")), folder)
        except OSError as error:
            words = "should a job of a run that was killed be at work there, it is not waited for"
            print(f"{folder} cannot be locked ({error.strerror}): {words}", file=sys.stderr, flush=True)
        yield  # closing the file ends the lock, as the end of the process does


def _lock(file: IO[bytes], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another process is at work in {folder}: waiting for it", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
