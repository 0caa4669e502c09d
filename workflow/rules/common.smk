# Loads the config once, refuses what is wrong before any job starts, and answers the rules' questions.
import json
import os
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

from sifu import paths, stages
from sifu.blocks import uses_gpu
from sifu.clock import bring_back
from sifu.codehash import code_hash
from sifu.config import default_data_root, load_suite, read_yaml
from sifu.data import source_files
from sifu.errors import SifuError
from sifu.methods.method import OwnTraining
from sifu.report.figures import FIGURES
from sifu.run import method_of, tried_scenario
from sifu.search import trials
from sifu.settings import to_plain

try:
    for file in workflow.configfiles:
        read_yaml(Path(file))  # stricter than Snakemake: no key twice
    SUITE = load_suite(config, Path(workflow.basedir) / "config")
except SifuError as error:
    raise WorkflowError(str(error))

for notice in SUITE.notices():
    print(notice, file=sys.stderr)

if workflow.is_main_process and (ahead := bring_back(SUITE.run.results)):
    words = "are dated ahead of this machine's clock: they get its time"
    print(f"{ahead} files under {SUITE.run.results} {words}", file=sys.stderr)

PY = sys.executable
RUN = SUITE.run
DATA_ROOT = default_data_root(RUN)
CONFIG = Path(workflow.basedir) / "config"
DOWNLOAD = "--download" if RUN.download else ""
# Jobs run on other machines: this is one of theirs, or there is a number of jobs (a dry run has one, too, and one core).
NODES, CORES = workflow.resource_settings.nodes, workflow.resource_settings.cores
CLUSTER = workflow.remote_exec or (NODES is not None and CORES != 1)
if CLUSTER and RUN.block_size is None:
    raise WorkflowError(
        "block_size: null is refused on a cluster; allowed: a number of seeds (--config block_size=10), "
        "as each machine would choose another"
    )
# profiles/default lends one GPU: two trainings on it would only be in each other's way
USES_GPU = int(uses_gpu(RUN.device, CLUSTER))

# what a reader types to make a file again
FIRST = Path(workflow.configfiles[0])  # that of the command line, if there is one
CONFIGFILE = os.path.relpath(FIRST, workflow.basedir) if FIRST.is_absolute() else FIRST
COMMAND = f"snakemake --cores 4 --configfile {CONFIGFILE}"
LOGGED = " 2>&1 | tee {log:q} >&2"
BLOCK_OPTIONS = (
    "--scenario {wildcards.scenario} --block {wildcards.block} "
    "--config {CONFIG:q} --results {RUN.results:q} --data-root {DATA_ROOT:q}"
)
DEVICE_OPTIONS = (
    " --device {RUN.device} --threads {threads} --precision {RUN.precision}"
    " --checkpoint-seconds {RUN.checkpoint_seconds}" + LOGGED
)


wildcard_constraints:
    scenario="|".join(SUITE.scenarios) or "none",
    variant="|".join(SUITE.variants) or "none",
    block=r"s\d+-\d+",
    figure="|".join(FIGURES),


def stage_path(stage, file, variant=""):
    return str(
        paths.stage_folder(RUN.results, stage, "{scenario}", "{block}", variant) / file
    )


def variant_files(wildcards):
    """The unlearned weights of every variant of a block."""
    scenario, block = wildcards.scenario, wildcards.block
    folders = [
        paths.stage_folder(RUN.results, "unlearn", scenario, block, name)
        for name in SUITE.variants_of(scenario)
    ]
    return [str(folder / "weights.safetensors") for folder in folders]


def variant_names(wildcards):
    return SUITE.variants_of(wildcards.scenario)


@cache
def own_training(variant):
    """Whether the variant's method needs a training of its own."""
    scenarios = SUITE.scenarios.values()
    method = SUITE.variants[variant]
    return any(
        isinstance(method_of(variant, method, s), OwnTraining) for s in scenarios
    )


def history_file(wildcards):
    """The training that a variant starts from: that of all, or its own."""
    name = wildcards.variant if own_training(wildcards.variant) else ""
    folder = paths.stage_folder(
        RUN.results, "train", wildcards.scenario, wildcards.block, name
    )
    return str(folder / "history.safetensors")


def search_path(scenario, variant):
    """What a variant's search found; None where there is none."""
    search = SUITE.variants[variant].search
    if search is None:
        return None
    searched = SUITE.searched_as(scenario)
    folder = paths.stage_folder(RUN.results, "search", searched, search.block, variant)
    return str(folder / "search.parquet")


def search_file(wildcards):
    return search_path(wildcards.scenario, wildcards.variant) or []


def search_history(wildcards):
    """The training that a search starts from; nothing where the method is trained with every value."""
    if own_training(wildcards.variant):
        return []
    return stage_path("train", "history.safetensors")


def variant_option(wildcards):
    """The variant that a training is for, if it is for one alone."""
    name = getattr(wildcards, "variant", None)
    return f"--variant {name}" if name else ""


def search_settings(wildcards):
    """What is tried: a rule parameter, so that another grid searches again."""
    search = SUITE.variants[wildcards.variant].search
    return json.dumps(to_plain(search), sort_keys=True)


def search_files():
    """The searches of all variants in all scenarios."""
    return [search_path(scenario, name) for scenario, name, _ in SUITE.searches]


def scenario_search_files():
    """The searches for scenarios' settings."""
    return [
        str(
            paths.stage_folder(
                RUN.results, "scenario_search", scenario, search.block, name
            )
            / "scenario_search.parquet"
        )
        for (scenario, name), search in SUITE.scenario_searches.items()
    ]


def variant_of(wildcards):
    """A job's variant; None for stages that have none."""
    return getattr(wildcards, "variant", None)


@cache
def method_in(scenario, variant):
    """The method of a variant in a scenario; None without a variant."""
    if variant is None:
        return None
    return method_of(variant, SUITE.variants[variant], SUITE.scenarios[scenario])


def stage_settings(stage):
    """The settings that a stage's results depend on: a rule parameter, so that changing one re-runs the stage."""
    return lambda wildcards: settings_of(
        stage, wildcards.scenario, variant_of(wildcards)
    )


@cache
def settings_of(stage, scenario, variant):
    """The same for all blocks: thousands of jobs ask."""
    settings = stages.relevant_settings(
        stage, SUITE.scenarios[scenario], method_in(scenario, variant)
    )
    return json.dumps(settings, sort_keys=True)


def stage_code(stage):
    """The hash of the code that a stage runs: Snakemake itself does not look into packages."""
    return lambda wildcards: code_of(stage, wildcards.scenario, variant_of(wildcards))


@cache
def code_of(stage, scenario, variant):
    method = method_in(scenario, variant)
    modules = stages.stage_modules(
        stage, SUITE.scenarios[scenario], method and method.name
    )
    return code_hash(*modules)


def sweep_code(wildcards):
    """The hash of the code of the sigma sweep, its method included."""
    variant = RUN.sigma_sweep.variant
    return _code_of("sweep", wildcards, [variant])


def set_code(wildcards):
    """The hash of the code of the request sets, all their methods included."""
    return _code_of("request_sets", wildcards, SUITE.set_variants)


def _code_of(stage, wildcards, variants):
    scenario = SUITE.scenarios[wildcards.scenario]
    names = set()
    for variant in variants:
        method = SUITE.all_variants[variant].method
        names.update(stages.stage_modules(stage, scenario, method))
    return code_hash(*sorted(names))


def set_histories(wildcards):
    """The trainings that the request sets start from."""
    own = [name for name in SUITE.set_variants if own_training(name)]
    folders = [
        paths.stage_folder(
            RUN.results, "train", wildcards.scenario, wildcards.block, name
        )
        for name in ["", *own]
    ]
    return [str(folder / "history.safetensors") for folder in folders]


def set_searches(wildcards):
    found = [search_path(wildcards.scenario, name) for name in SUITE.set_variants]
    return [path for path in found if path]


def dataset_files(wildcards):
    """The files of the scenario's dataset: replacing one re-runs what was made of it."""
    return files_of(wildcards.scenario)


@cache
def files_of(scenario):
    dataset = SUITE.scenarios[scenario].dataset
    return source_files(dataset.name, dataset.source, DATA_ROOT)


def block_files(stage, file):
    """A file of every block of every scenario."""
    return [
        str(paths.stage_folder(RUN.results, stage, scenario, block) / file)
        for scenario in SUITE.scenarios
        for block in SUITE.blocks
    ]


def cell_files():
    """The cells of every variant."""
    return [
        str(
            paths.stage_folder(RUN.results, "unlearn", scenario, block, variant)
            / "cells.parquet"
        )
        for scenario in SUITE.scenarios
        for block in SUITE.blocks
        for variant in SUITE.variants_of(scenario)
    ]


def table_files():
    return [str(Path(RUN.results) / "report" / file) for file in paths.REPORT_FILES]


def figure_files(name):
    folder = Path(RUN.results) / "report" / "figures"
    return [str(folder / f"{name}.{kind}") for kind in paths.FIGURE_KINDS]


def sweep_files(stage):
    return [
        str(paths.stage_folder(RUN.results, stage, s, b) / paths.FILES[stage][0])
        for s, b in SUITE.sweep_files(stage)
    ]


def figure_inputs(wildcards):
    """The tables that a figure is drawn from."""
    answers = cell_files() + block_files("verify", "metrics.parquet")
    training = block_files("train", "cells.parquet")
    return {
        "alpha": block_files("alpha", "alpha.parquet") + alpha_sweep_files(),
        "null_space": [str(Path(RUN.results) / "null_space" / "null_space.parquet")],
        "lineage": cell_files() + training,
        "sigma": answers + sweep_files("sweep"),
        "request_sets": answers + sweep_files("request_sets"),
    }.get(wildcards.figure, answers)


def all_figures():
    return [file for name in FIGURES for file in figure_files(name)]


def page_file():
    return str(Path(RUN.results) / "report" / "report.html")


def report_files():
    """What people read."""
    return table_files() + all_figures() + [page_file()]


def report_plan():
    return json.dumps(SUITE.report_plan())


def figure_plan():
    """The same without settings, which no figure shows: changing one draws only what follows from it again."""
    return json.dumps(SUITE.report_plan() | {"settings": {}})
