"""How long a job took, in a small file beside its tables: they themselves hold nothing that changes when made again."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sifu.store.parquet import write_text

_FILE = "time.json"
_SNAKEMAKE = "benchmark.tsv"  # what Snakemake leaves beside trainings and unlearnings


class Spell(NamedTuple):
    """When a job began (seconds since 1970) and how long it took; None where nobody looked at the clock."""

    began: float | None
    seconds: float | None


@contextmanager
def timed(folder: Path) -> Iterator[None]:
    """Writes when what happens inside began and how long it took, once all went well."""
    began, start = time.time(), time.monotonic()
    yield
    spell = Spell(round(began, 2), round(time.monotonic() - start, 2))
    write_text(folder / _FILE, json.dumps(spell._asdict()) + "\n")


def spell_of(folder: Path) -> Spell:
    """The time of the job that wrote to a folder."""
    try:
        found = json.loads((folder / _FILE).read_text())
        return Spell(float(found["began"]), float(found["seconds"]))
    except (OSError, ValueError, TypeError, KeyError):
        return Spell(None, _snakemake_seconds(folder / _SNAKEMAKE))


def busy_seconds(spells: Sequence[Spell]) -> float:
    """For how long at least one of the jobs ran; a job whose beginning is not known is taken to have run alone."""
    known = sorted((s.began, s.began + s.seconds) for s in spells if s.began is not None and s.seconds is not None)
    total = sum(s.seconds or 0.0 for s in spells if s.began is None)
    until = -math.inf
    for began, ended in known:
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


def _snakemake_seconds(path: Path) -> float | None:
    """The last run's: a header, then a line a run that starts with its seconds."""
    try:
        return float(path.read_text().splitlines()[-1].split("\t")[0])
    except (OSError, ValueError, IndexError):
        return None
