"""The tables that a report is made of. Reads Parquet, nothing else, and remembers which planned tables are missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report import statistics
from sifu.store.parquet import read_stamp, read_tables
from sifu.store.schemas import (
    ALPHA,
    CELLS,
    METRICS,
    NULL_SPACE,
    REQUEST_SETS,
    SCENARIO_SEARCH,
    SEARCH,
    SWEEP,
    VERIFICATION,
)
from sifu.store.table import Table


@dataclass(frozen=True)
class Results:
    """The tables of a plan, each read when it is asked for."""

    plan: ReportPlan
    missing: list[str] = field(default_factory=list)  # planned files that were asked for and do not exist (yet)

    @property
    def root(self) -> Path:
        return Path(self.plan.results)

    @cached_property
    def planned(self) -> dict[str, list[Path]]:
        """The files of a finished run, by kind of table."""
        plan, root = self.plan, self.root
        blocks = [Path(s) / b for s in plan.titles for b in plan.blocks]
        cells = [(s, v, b) for s in plan.titles for v in plan.variants[s] for b in plan.blocks]
        return {
            "cells": [root / "unlearn" / s / v / b / "cells.parquet" for s, v, b in cells],
            "training": [root / "train" / block / "cells.parquet" for block in blocks],
            "metrics": [root / "verify" / block / "metrics.parquet" for block in blocks],
            "verification": [root / "verify" / block / "verification.parquet" for block in blocks],
            "alpha": [root / "alpha" / block / "alpha.parquet" for block in blocks]
            + [root / "alpha_sweep" / s / c / b / "alpha.parquet" for s, c, b in plan.alpha_sweeps],
            "trials": [root / "search" / s / v / b / "search.parquet" for s, v, b in plan.searches],
            "scenario_trials": [
                root / "scenario_search" / s / n / b / "scenario_search.parquet" for s, n, b in plan.scenario_searches
            ],
            "sweep": [root / "sweep" / s / b / "sweep.parquet" for s, b in plan.sweeps],
            "request_sets": [root / "request_sets" / s / b / "request_sets.parquet" for s, b in plan.request_sets],
            "null_space": [root / "null_space" / "null_space.parquet"],
        }

    def all_missing(self) -> list[str]:
        """Every planned file that does not exist, whether it was asked for or not."""
        return [str(path) for paths in self.planned.values() for path in paths if not path.exists()]

    def _read(self, kind: str, table: Table) -> pd.DataFrame:
        present, known = [], set(self.missing)
        for path in self.planned[kind]:
            if path.exists():
                present.append(path)
            elif str(path) not in known:
                self.missing.append(str(path))
        return read_tables(present, table)

    @cached_property
    def cells(self) -> pd.DataFrame:
        return self._read("cells", CELLS)

    @cached_property
    def training(self) -> pd.DataFrame:
        return self._read("training", CELLS)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        return self._read("metrics", METRICS)

    @cached_property
    def verification(self) -> pd.DataFrame:
        return self._read("verification", VERIFICATION)

    @cached_property
    def alpha(self) -> pd.DataFrame:
        """alpha and Psi of the scenarios as they are, and with changed federations."""
        return self._read("alpha", ALPHA)

    @cached_property
    def trials(self) -> pd.DataFrame:
        return self._read("trials", SEARCH)

    @cached_property
    def scenario_trials(self) -> pd.DataFrame:
        return self._read("scenario_trials", SCENARIO_SEARCH)

    @cached_property
    def sweep(self) -> pd.DataFrame:
        return self._read("sweep", SWEEP)

    @cached_property
    def request_sets(self) -> pd.DataFrame:
        return self._read("request_sets", REQUEST_SETS)

    @cached_property
    def null_space(self) -> pd.DataFrame:
        return self._read("null_space", NULL_SPACE)

    @cached_property
    def stamps(self) -> list[list[str]]:
        """Where each training comes from: scenario, block, commit, code, rules, torch, device."""
        rows = []
        for name in self.plan.titles:
            for block in self.plan.blocks:
                path = self.root / "train" / name / block / "cells.parquet"
                if path.exists():
                    stamp = read_stamp(path)
                    keys = ("commit", "code_hash", "rules_version", "torch", "device")
                    rows.append([name, block, *(stamp[key][:40] for key in keys)])
        return rows

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Every number of a cell over seeds."""
        return statistics.over_seeds(statistics.long_form(self.cells, self.metrics))
