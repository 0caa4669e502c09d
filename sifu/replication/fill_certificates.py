"""Fills in what certificates of budgets are worth, in the stored tables of a run that was made before the stage did so.

No number is counted again: a row takes those of the target's row that is about the same model
(sifu/unlearning/same_start.py). The stamp of a table stays, as its rows are those of its run; its notes say how many
were filled, and by which commit. A table in which nothing can be filled is not written.
"""

from __future__ import annotations

import json
from pathlib import Path

from sifu.report.packed import block_files, unpack
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import Provenance, commit
from sifu.store.schemas import CELLS
from sifu.unlearning.same_start import fill_same_starts

_NOTE = "filled_certificates"
# Stored tables do not say what a promise is about. Of these methods it is the model that recovery starts from (unless
# `noise` is `end`), or the rounds before the request; of any other one it may be the recovered model.
_BEFORE_RECOVERY = (
    *("scratch", "scratch_again", "rapid_retraining", "blurred_scratch", "exact_rollback"),
    *("sifu", "last", "fed_recovery", "f2l2", "dp_fedavg"),
)


def fill_certificates(results: Path) -> dict[Path, int]:
    """Fills the tables `cells` of a results folder. How many rows of each were filled."""
    unpack(results)
    counts = {path: _fill(path) for path in block_files(results, "unlearn", "cells.parquet")}
    return {path: count for path, count in counts.items() if count}


def _fill(path: Path) -> int:
    cells, stamp = read_table(path, CELLS), read_stamp(path)
    method = json.loads(stamp["settings"])["method"]
    filled = fill_same_starts(cells, at_end=method["name"] not in _BEFORE_RECOVERY or method.get("noise") == "end")
    count = int((filled["actual_epsilon"].notna() & cells["actual_epsilon"].isna()).sum())
    if count:
        notes = json.loads(stamp.get("notes") or "{}") | {_NOTE: {"rows": count, "commit": commit()}}
        write_table(path, CELLS, filled, Provenance(**stamp | {"notes": json.dumps(notes, sort_keys=True)}))
    return count
