"""What one setting of a method does, for docs/forgetting.md: epochs of distillation (Wu et al.)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.docs.measured_text import table_text
from sifu.docs.named import scenarios, variants
from sifu.replication.published import Published
from sifu.store.experiment_schemas import SETTING_SWEEP
from sifu.store.parquet import read_tables

_DISTILS, _EPOCHS = "subtract_and_distil", "epochs"
_NOTHING = "no scenario has been swept yet."
_SHARES = {
    "start_forget_accuracy": "forgotten, before",
    "forget_accuracy": "forgotten, after",
    "start_retain_accuracy": "remaining, before",
}


def swept_settings(results: Path) -> pd.DataFrame:
    """The rows of all sweeps of settings."""
    return read_tables(sorted(results.glob("setting_sweep/*/*/*/setting_sweep.parquet")), SETTING_SWEEP)


def epochs_of_distillation(root: Path, run: Published) -> str:
    """A row a scenario and number of epochs: means over seeds of accuracies, before and after the recovery."""
    named, places = variants(root), scenarios(root)
    rows = swept_settings(run.folder)
    distils = [name for name in set(rows["variant"]) if named[name].method == _DISTILS]
    rows = rows[rows["variant"].isin(distils) & (rows["setting"] == _EPOCHS)]
    if rows.empty:
        return _NOTHING
    lines = []
    for key, part in rows.groupby(["scenario", "value"]):
        scenario, epochs = map(str, key)
        shares = [_mean(part[column], ".2f") for column in _SHARES]
        seeds = str(part["seed"].nunique())
        lines.append([places[scenario].label, f"{float(epochs):g}", *shares, _rounds(part), seeds])
    return table_text(lines, "scenario", "epochs", *_SHARES.values(), "rounds to the target", "seeds").rstrip()


def _rounds(rows: pd.DataFrame) -> str:
    """Their mean; `-` where a seed did not reach the target."""
    return _mean(rows["rounds"], ",.0f") if (rows["status"] == "done").all() else "-"


def _mean(values: pd.Series, form: str) -> str:
    return "-" if values.isna().any() else format(values.mean(), form)
