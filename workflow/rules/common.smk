# Loads the config once, refuses what is wrong before any job starts, and answers the rules' questions after settings.
import json
import os
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

from sifu.plan import freshness as stages
from sifu.store import paths
from sifu.config.blocks import uses_gpu
from sifu.store.timestamps import clamp_future_timestamps
from sifu.plan.code_hash import code_hash
from sifu.plan.load import default_data_root, load_suite, read_yaml
from sifu.errors import SifuError
from sifu.unlearning.method import OwnTraining
from sifu.catalog.figures import FIGURES
from sifu.plan.variants import method_of
from sifu.config.fields import to_plain

try:
    for file in workflow.configfiles:
        read_yaml(Path(file))  # stricter than Snakemake: no key twice
    SUITE = load_suite(config, Path(workflow.basedir) / "config")
except SifuError as error:
    raise WorkflowError(str(error))

for notice in SUITE.notices():
    print(notice, file=sys.stderr)

if workflow.is_main_process and (ahead := clamp_future_timestamps(SUITE.run.results)):
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


def variant_option(wildcards):
    """The variant that a training is for, if it is for one alone."""
    name = getattr(wildcards, "variant", None)
    return f"--variant {name}" if name else ""


def rounds_option(sweep):
    """The most rounds that a sweep allows, if it has its own."""
    return f"--rounds {sweep.rounds}" if sweep and sweep.rounds else ""


def search_settings(wildcards):
    """What is tried: a rule parameter, so that another grid searches again."""
    search = SUITE.variants[wildcards.variant].search
    return json.dumps(to_plain(search), sort_keys=True)


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


def report_plan():
    return json.dumps(SUITE.report_plan())


def figure_plan():
    """The same without settings, which no figure shows: changing one draws only what follows from it again."""
    return json.dumps(SUITE.report_plan() | {"settings": {}})
