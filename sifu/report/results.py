"""The tables that a report is made of, each read when it is asked for. What is missing is remembered."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.catalog.lookup import resolve
from sifu.plan.report_plan import Job, ReportPlan
from sifu.plan.stage_spec import STAGES
from sifu.report import statistics
from sifu.report.bounds import refuted
from sifu.report.data_used import DataUsed, data_used
from sifu.report.forgetting import by_the_rule
from sifu.report.packed import unpack
from sifu.report.trained_settings import as_trained
from sifu.store.parquet import read_stamp, read_tables
from sifu.store.paths import stage_folder


@dataclass(frozen=True)
class Results:
    """The tables of a report plan. Reads Parquet, nothing else."""

    plan: ReportPlan
    missing: list[str] = field(default_factory=list)  # planned files that were asked for and do not exist (yet)

    def __post_init__(self) -> None:
        unpack(self.root)

    @property
    def root(self) -> Path:
        return Path(self.plan.results)

    def planned(self, name: str) -> list[Path]:
        """The files of a table, "stage/table", that a finished run has."""
        stage, table = name.split("/")
        return [self._folder(stage, job) / f"{table}.parquet" for job in self.plan.jobs.get(stage, [])]

    def _folder(self, stage: str, job: Job) -> Path:
        return stage_folder(self.root, STAGES[stage].folder or stage, job.scenario, job.block, job.part)

    def all_planned(self) -> list[Path]:
        """Every file that the report of a finished run is made of."""
        reported = [f"{stage}/{table}" for stage, spec in STAGES.items() for table in spec.reported]
        return [path for name in reported for path in self.planned(name)]

    def all_missing(self) -> list[str]:
        """Every planned file that does not exist, whether it was asked for or not."""
        return [str(path) for path in self.all_planned() if not path.exists()]

    def table(self, *names: str) -> pd.DataFrame:
        """The rows of all jobs of a table, "stage/table", or of several with the same columns."""
        existing, known = [], set(self.missing)
        for path in [path for name in names for path in self.planned(name)]:
            if path.exists():
                existing.append(path)
            elif str(path) not in known:
                self.missing.append(str(path))
        stage, table = names[0].split("/")
        return read_tables(existing, resolve(STAGES[stage].tables[table]))

    @cached_property
    def cells(self) -> pd.DataFrame:
        return self.table("unlearn/cells")

    def made_with(self, method: str) -> dict[tuple[str, str], dict[str, Any]]:
        """The settings that the answers of a method's variants were made with, by scenario and variant."""
        jobs = [job for job in self.plan.jobs.get("unlearn", []) if self.plan.methods.get(job.part) == method]
        paths = {(job.scenario, job.part): self._folder("unlearn", job) / "cells.parquet" for job in jobs}
        return {key: json.loads(read_stamp(path)["settings"]) for key, path in paths.items() if path.exists()}

    @cached_property
    def training(self) -> pd.DataFrame:
        return self.table("train/cells")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings of the scenarios that were trained: what is planned depends on which datasets are here.

        What a training depends on is as that training had it: a scenario may have changed since.
        """
        ran = set(self.training["scenario"])
        planned = self.plan.settings.items()
        return {name: as_trained(plain, self._trained_with(name)) for name, plain in planned if name in ran}

    def _trained_with(self, scenario: str) -> dict[str, Any]:
        """What the stamp of a scenario's training says, of its first block."""
        jobs = [job for job in self.plan.jobs.get("train", []) if job.scenario == scenario]
        paths = [self._folder("train", job) / "cells.parquet" for job in jobs]
        stamps = (json.loads(read_stamp(path)["settings"]) for path in paths if path.exists())
        return next(stamps, {})

    @cached_property
    def metrics(self) -> pd.DataFrame:
        return self.table("verify/metrics")

    @cached_property
    def verification(self) -> pd.DataFrame:
        return self.table("verify/verification")

    @cached_property
    def alpha(self) -> pd.DataFrame:
        """alpha and Psi of the scenarios as they are, and with changed federations: of clients and of requests."""
        return self.table("alpha/alpha", "alpha_sweep/alpha")

    @cached_property
    def refuted(self) -> set[str]:
        """The scenarios whose B a training without some of their clients refutes."""
        return refuted(self.table("alpha/alpha"))

    @cached_property
    def trials(self) -> pd.DataFrame:
        return self.table("search/search")

    @cached_property
    def scenario_trials(self) -> pd.DataFrame:
        return self.table("scenario_search/scenario_search")

    @cached_property
    def sweep(self) -> pd.DataFrame:
        return self.table("sweep/sweep")

    @cached_property
    def setting_sweep(self) -> pd.DataFrame:
        return self.table("setting_sweep/setting_sweep")

    @cached_property
    def request_sets(self) -> pd.DataFrame:
        return self.table("request_sets/request_sets")

    @cached_property
    def audit(self) -> pd.DataFrame:
        return self.table("audit/audit")

    @cached_property
    def forgetting(self) -> pd.DataFrame:
        return by_the_rule(self.table("forgetting/forgetting"))

    @cached_property
    def distances(self) -> pd.DataFrame:
        return self.table("forgetting/distances")

    @cached_property
    def power(self) -> pd.DataFrame:
        return self.table("forgetting/power")

    @cached_property
    def atlas(self) -> pd.DataFrame:
        return self.table("atlas/atlas")

    @cached_property
    def null_space(self) -> pd.DataFrame:
        return self.table("null_space/null_space")

    @cached_property
    def stamps(self) -> list[list[str]]:
        """Where each training comes from: scenario, block, commit, code, rules, torch, device."""
        keys = ("commit", "code_hash", "rules_version", "torch", "device")
        rows = []
        for job in self.plan.jobs.get("train", []):
            path = self._folder("train", job) / "cells.parquet"
            if path.exists():
                stamp = read_stamp(path)
                rows.append([job.scenario, job.block, *(stamp[key][:40] for key in keys)])
        return rows

    @cached_property
    def data(self) -> dict[str, DataUsed]:
        """What the trainings had of each dataset."""
        paths = (self._folder("train", job) / "cells.parquet" for job in self.plan.jobs.get("train", []))
        return data_used(path for path in paths if path.exists())

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Every number of a cell over seeds."""
        return statistics.over_seeds(statistics.long_form(self.cells, self.metrics))
