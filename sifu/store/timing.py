"""Time and memory of a job, in a small file next to its tables. Tables hold nothing that differs when made again."""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sifu.errors import StoreError
from sifu.store.json_file import read_json
from sifu.store.parquet import write_text

_FILE = "time.json"
_SNAKEMAKE = "benchmark.tsv"  # by Snakemake, in runs before time.json


class JobTime(NamedTuple):
    """When a job began (seconds since 1970) and how long it took; None where it is not known."""

    began: float | None
    seconds: float | None


@contextmanager
def timed(folder: Path) -> Iterator[None]:
    """Write when the `with` block began, how long it took, of that on the CPU (all threads), and the memory of the
    process at most, if no error occurred.
    """
    began, start, cpu = time.time(), time.monotonic(), time.process_time()
    yield
    job = JobTime(round(began, 2), round(time.monotonic() - start, 2))
    used = {"cpu_seconds": round(time.process_time() - cpu, 2), "max_memory_mib": _max_memory()}
    write_text(folder / _FILE, json.dumps(job._asdict() | used) + "\n")


def read_job_time(folder: Path) -> JobTime:
    """The time of the job that wrote a folder."""
    try:
        saved = read_json(folder / _FILE)
        return JobTime(_seconds(saved["began"]), _seconds(saved["seconds"]))
    except (StoreError, ValueError, TypeError, KeyError, OverflowError):
        return JobTime(None, _snakemake_seconds(folder / _SNAKEMAKE))


def _seconds(value: Any) -> float:
    """A time that can be: a number below 2^40, which is 30,000 years."""
    seconds = float(value)
    if not 0 <= seconds < 2**40:
        raise ValueError(value)
    return seconds


def busy_seconds(jobs: Sequence[JobTime]) -> float:
    """Seconds in which at least one of the jobs ran; a job with unknown start counts as if it had run alone."""
    known = sorted((j.began, j.began + j.seconds) for j in jobs if j.began is not None and j.seconds is not None)
    total = sum(j.seconds or 0.0 for j in jobs if j.began is None)
    until = -math.inf
    for began, ended in known:
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


def _max_memory() -> int:
    """The most memory that this process has held so far, in MiB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes on macOS, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


def _snakemake_seconds(path: Path) -> float | None:
    """The seconds of the last run: the file has a header, then one line per run that starts with its seconds."""
    try:
        return _seconds(path.read_text().splitlines()[-1].split("\t")[0])
    except (OSError, ValueError, IndexError, OverflowError):
        return None
