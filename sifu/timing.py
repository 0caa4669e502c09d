"""How long a job took, in a small file beside its tables: they themselves hold nothing that changes when made again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sifu.store import write_text

_FILE = "time.json"
_SNAKEMAKE = "benchmark.tsv"  # what Snakemake leaves beside trainings and unlearnings


@contextmanager
def timed(folder: Path) -> Iterator[None]:
    """Writes the wall time of what happens inside, in seconds, once all went well."""
    start = time.monotonic()
    yield
    write_text(folder / _FILE, json.dumps({"seconds": round(time.monotonic() - start, 2)}) + "\n")


def seconds_of(folder: Path) -> float | None:
    """The wall time of the job that wrote to a folder; None where nobody looked at the clock."""
    try:
        return float(json.loads((folder / _FILE).read_text())["seconds"])
    except (OSError, ValueError, TypeError, KeyError):
        return _snakemake_seconds(folder / _SNAKEMAKE)


def _snakemake_seconds(path: Path) -> float | None:
    """The last run's: a header, then a line a run that starts with its seconds."""
    try:
        return float(path.read_text().splitlines()[-1].split("\t")[0])
    except (OSError, ValueError, IndexError):
        return None
