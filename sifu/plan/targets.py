"""What the rules of the workflow ask: files in, files out, settings, code and options of every job.

A rule asks for a stage by name and gets strings with wildcards, or functions of a job's wildcards. All answers follow
from the plan and from the stages' records; the rules themselves hold no logic.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sifu.catalog.datasets import source_files
from sifu.catalog.figures import FIGURES
from sifu.config.changed_scenario import tried_scenario
from sifu.config.fields import to_plain
from sifu.config.search import ScenarioSearch, trials
from sifu.errors import SifuError
from sifu.plan import freshness
from sifu.plan.code_hash import code_hash
from sifu.plan.report_files import REPORT_FILES
from sifu.plan.report_plan import Job, ReportPlan, planned_figures
from sifu.plan.stage_options import stage_options
from sifu.plan.stage_spec import STAGES, WITH_PART
from sifu.plan.suite import Suite
from sifu.store import paths

PLANS = Path(".snakemake", "plans")  # in the folder that Snakemake works in
JOB = Job("{scenario}", "{block}", "{part}")  # as Snakemake's wildcards
Files = str | list[str]


class Targets:
    """The answers of one plan; `data_root` is the folder of the datasets."""

    def __init__(self, suite: Suite, data_root: Path) -> None:
        self.suite, self.run, self.data_root = suite, suite.run, data_root
        self.report = paths.report_folder(suite.run.results)
        self.job_settings, self.job_code = cache(self._settings), cache(self._code)  # thousands of jobs ask
        self.dataset_files = cache(self._dataset_files)

    def path(self, stage: str, file: str, job: Job | None = None) -> str:
        """A file of a stage, for one job, or with wildcards for all."""
        spec = STAGES[stage]
        if job is None:
            job = JOB if spec.jobs in WITH_PART else Job() if spec.jobs == "once" else JOB._replace(part="")
        folder = paths.stage_folder(self.run.results, spec.folder or stage, job.scenario, job.block, job.part)
        return str(folder / file)

    def outputs(self, stage: str) -> list[str]:
        return [self.path(stage, file) for file in STAGES[stage].outputs]

    def log(self, stage: str) -> str:
        return self.path(stage, "log.txt")

    def constraints(self) -> dict[str, str]:
        """What the wildcards may be: names of this plan alone."""
        parts = {job.part for jobs in self.suite.jobs.values() for job in jobs if job.part}
        return {
            "scenario": "|".join(self.suite.scenarios) or "none",
            "part": "|".join(sorted(parts)) or "none",
            "block": r"s\d+-\d+",
            "figure": "|".join(FIGURES),
        }

    # inputs of a job

    def inputs(self, stage: str) -> Callable[[Any], dict[str, Files]]:
        """A function of wildcards: the files that a job reads, by name."""
        finders = {name: getattr(self, f"_{name}") for name in STAGES[stage].reads}
        parts = {job.part for job in self.suite.jobs[stage]}

        def inputs_of(wildcards: Any) -> dict[str, Files]:
            job = _job(wildcards)
            if job.part not in parts:
                raise SifuError(f"stage {stage} has no part {job.part} in this plan; it has {', '.join(sorted(parts))}")
            if Path(self.path(stage, paths.GIVEN, job)).exists():
                return {}  # nothing that it was made of is asked for, or may be newer
            return {name: files(job) for name, files in finders.items()}

        return inputs_of

    def _data(self, job: Job) -> list[str]:
        """The files of the scenario's dataset: replacing one re-runs what was made of it."""
        return self.dataset_files(job.scenario)

    def _dataset_files(self, scenario: str) -> list[str]:
        dataset = self.suite.scenarios[scenario].dataset
        return source_files(dataset.name, dataset.source, self.data_root)

    def _partition(self, job: Job) -> str:
        return self.path("partition", "partition.parquet", job._replace(part=""))

    def _training(self, job: Job) -> str:
        """The cells of the training that budgets are shares of."""
        return self.path("train", "cells.parquet", job._replace(part=""))

    def _training_history(self, job: Job) -> str:
        return self.path("train", "history.safetensors", job._replace(part=""))

    def _variant_history(self, job: Job) -> str:
        """The history that a variant starts from: the scenario's, or that of its own training."""
        own = self.suite.own_training(job.part)
        return self.path("train", "history.safetensors", job if own else job._replace(part=""))

    def _counterfactual(self, job: Job) -> Files:
        """What a variant's certificate is compared with; nothing where it finds that by itself."""
        if job.part not in self.suite.compared(job.scenario):
            return []
        return self.path("counterfactual", "counterfactual.safetensors", job._replace(part=""))

    def _search(self, job: Job) -> Files:
        """What the variant's search found; nothing where it has none."""
        search = self.suite.variants[job.part].search
        if search is None:
            return []
        return self.path("search", "search.parquet", Job(self.suite.searched_as(job.scenario), search.block, job.part))

    def _search_history(self, job: Job) -> Files:
        """The training that a search starts from; nothing where the method is trained with every value."""
        return [] if self.suite.own_training(job.part) else self._training_history(job)

    def _search_training(self, job: Job) -> Files:
        """The cells of the training that limits a search's recoveries; nothing where the search has its own limit."""
        search = self.suite.variants[job.part].search
        if search is None or search.rounds is not None or self.suite.own_training(job.part):
            return []
        return self._training(job)

    def _weights(self, job: Job) -> list[str]:
        """The unlearned weights of every variant of a block."""
        jobs = [job._replace(part=name) for name in self.suite.variants_of(job.scenario)]
        return [self.path("unlearn", "weights.safetensors", one) for one in jobs]

    def _set_histories(self, job: Job) -> list[str]:
        """The histories that the request sets start from."""
        own = [name for name in self.suite.set_variants if self.suite.own_training(name)]
        return [self.path("train", "history.safetensors", job._replace(part=name)) for name in ["", *own]]

    def _set_searches(self, job: Job) -> list[str]:
        return self._searches(job, self.suite.set_variants)

    def _audit_searches(self, job: Job) -> list[str]:
        return self._searches(job, self.suite.audit_variants(job.scenario))

    def _federation(self, job: Job) -> str:
        """The partition of the run's first block: that of all seeds, where the federation is fixed."""
        return self._partition(job._replace(block=self.suite.blocks_of(job.scenario)[0]))

    def _oracle_searches(self, job: Job) -> list[str]:
        return self._searches(job, self.suite.oracle_variants(job.scenario))

    def _oracle_margins(self, job: Job) -> list[str]:
        """The margins of all blocks of models of a scenario."""
        jobs = [one for one in self.suite.jobs["oracles"] if one.scenario == job.scenario]
        return [self.path("oracles", f"{table}.parquet", one) for table in ("margins", "points") for one in jobs]

    def _searches(self, job: Job, variants: list[str]) -> list[str]:
        """What the searches of some variants found."""
        found = [self._search(job._replace(part=name)) for name in variants]
        return [path for path in found if isinstance(path, str)]

    # what makes a job stale

    def settings(self, stage: str) -> Callable[[Any], str]:
        """A function of wildcards: the settings that a job's results depend on, as JSON."""
        return lambda wildcards: self.job_settings(stage, _job(wildcards)._replace(block=""))

    def _settings(self, stage: str, job: Job) -> str:
        scenario, method = self.suite.scenarios[job.scenario], None
        if stage == "alpha_sweep":
            scenario = self.suite.changed(job.scenario, job.part)
        elif stage == "scenario_search":
            method = self.suite.method(job.scenario, self._scenario_search(job).variant)
        elif job.part and stage != "atlas":
            method = self.suite.method(job.scenario, job.part)
        settings = freshness.relevant_settings(stage, scenario, method)
        if stage in ("request_sets", "audit", "oracles"):  # several variants in one job
            methods = {name: self.suite.method(job.scenario, name) for name in self._variants(stage, job)}
            settings["methods"] = {name: to_plain(method) for name, method in methods.items()}
        if stage == "search":  # another grid searches again
            settings["search"] = to_plain(self.suite.variants[job.part].search)
        return json.dumps(settings, sort_keys=True)

    def code(self, stage: str) -> Callable[[Any], str]:
        """A function of wildcards: the hash of the code that a job runs; Snakemake itself looks into no package."""
        return lambda wildcards: self.job_code(stage, _job(wildcards)._replace(block=""))

    def _code(self, stage: str, job: Job) -> str:
        if STAGES[stage].jobs == "once":
            return code_hash(f"sifu.stages.{stage}")
        scenarios = [self.suite.scenarios[job.scenario]]
        if stage == "scenario_search":
            grid = self._scenario_search(job).grid
            scenarios = [tried_scenario(scenarios[0], values, "grid") for values in trials(grid).values()]
        variants = self._variants(stage, job)
        names = [self.suite.all_variants[name].method for name in variants]
        methods: list[str | None] = [*map(freshness.method_module, names)] or [None]
        modules = {m for s in scenarios for method in methods for m in freshness.stage_modules(stage, s, method)}
        return code_hash(*sorted(modules))

    def _variants(self, stage: str, job: Job) -> list[str]:
        """The variants whose methods a job runs."""
        if stage == "request_sets":
            return self.suite.set_variants
        if stage == "audit":
            return self.suite.audit_variants(job.scenario)
        if stage == "oracles":
            return self.suite.oracle_variants(job.scenario)
        if stage == "scenario_search":
            return [self._scenario_search(job).variant]
        return [job.part] if job.part and stage not in ("alpha_sweep", "atlas") else []

    def figure_code(self, wildcards: Any) -> str:
        return code_hash("sifu.stages.figure", FIGURES[wildcards.figure].module)

    def report_code(self, wildcards: Any) -> str:
        methods = [variant.method for variant in self.suite.variants.values()]
        return code_hash("sifu.stages.report", *freshness.method_modules(methods))

    def page_code(self, wildcards: Any) -> str:
        return code_hash("sifu.stages.page", "sifu.replication.strip")

    # options on the command line

    def options(self, stage: str) -> Callable[[Any], str]:
        """A function of wildcards: the options of the stage's command beyond those of all stages."""
        return lambda wildcards: shlex.join(stage_options(self.suite, stage, _job(wildcards)))

    def _scenario_search(self, job: Job) -> ScenarioSearch:
        return self.suite.scenario_searches[job.scenario, job.part]

    def planned(self, *tables: str) -> list[str]:
        """The files of tables, "stage/table" each, that a finished run has."""
        wanted = [table.split("/") for table in tables]
        return [self.path(stage, f"{name}.parquet", job) for stage, name in wanted for job in self.suite.jobs[stage]]

    @cached_property
    def report_inputs(self) -> list[str]:
        """Every table that the report's own tables are made of."""
        specs = [(stage, spec) for stage, spec in STAGES.items() if spec.in_tables]
        return self.planned(*(f"{stage}/{name}" for stage, spec in specs for name in spec.reported))

    def figure_inputs(self, wildcards: Any) -> list[str]:
        return self.planned(*FIGURES[wildcards.figure].tables)

    def report_files(self) -> list[str]:
        return [str(paths.tables_folder(self.report) / file) for file in REPORT_FILES]

    def figure_files(self, name: str) -> list[str]:
        return [str(paths.figure_file(self.report, name, kind)) for kind in paths.FIGURE_KINDS]

    def all_figures(self) -> list[str]:
        return [file for name in planned_figures(self.suite.jobs) for file in self.figure_files(name)]

    @property
    def page_file(self) -> str:
        return str(paths.report_page(self.report))

    @property
    def narrow_picture(self) -> str:
        return str(paths.narrow_picture(self.report))

    def report_log(self, name: str) -> str:
        return str(self.report / name)

    def report_plan(self, wildcards: Any) -> str:
        """A file that says what the report is about."""
        return self._plan_file(self.suite.report_plan())

    def figure_plan(self, wildcards: Any) -> str:
        """The same without settings, which no figure may read: changing one redraws only what follows from it."""
        return self._plan_file(replace(self.suite.report_plan(), settings={}))

    @staticmethod
    def _plan_file(plan: ReportPlan) -> str:
        """A plan as JSON, in a file named after its contents: a large plan would not fit on a command line."""
        text = json.dumps(plan.plain())
        path = PLANS / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(text)
            temporary.replace(path)
        return str(path)

    def everything(self) -> list[str]:
        """What people read: the target of a whole run."""
        return [*self.report_files(), *self.all_figures(), self.page_file, self.narrow_picture]


def _job(wildcards: Any) -> Job:
    """A job from its wildcards."""
    return Job(*(getattr(wildcards, name, "") for name in Job._fields))
