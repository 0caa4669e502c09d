# Loads the config once, refuses what is wrong before any job starts, and answers the rules' questions.
import json
import shutil
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from sifu import paths, stages
from sifu.codehash import code_hash
from sifu.config import default_data_root, load_suite, read_yaml
from sifu.data import source_files
from sifu.errors import SifuError

try:
    for file in workflow.configfiles:
        read_yaml(Path(file))  # stricter than Snakemake: no key twice
    SUITE = load_suite(config, Path(workflow.basedir) / "config")
except SifuError as error:
    raise WorkflowError(str(error))

for name, reason in SUITE.skipped.items():
    print(f"scenario {name} is left out: {reason}", file=sys.stderr)

PY = sys.executable
RUN = SUITE.run
DATA_ROOT = default_data_root(RUN)
SCENARIOS = Path(workflow.basedir) / "config" / "scenarios.yaml"
DOWNLOAD = "--download" if RUN.download else ""
# profiles/default lends one GPU: two trainings on it would only be in each other's way
USES_GPU = int(
    RUN.device == "cuda" or (RUN.device == "auto" and bool(shutil.which("nvidia-smi")))
)


wildcard_constraints:
    scenario="|".join(SUITE.scenarios) or "none",
    block=r"s\d+-\d+",


def stage_path(stage, file):
    return str(paths.stage_folder(RUN.results, stage, "{scenario}", "{block}") / file)


def stage_folder(stage):
    def folder(wildcards):
        return paths.stage_folder(
            RUN.results, stage, wildcards.scenario, wildcards.block
        )

    return folder


def stage_settings(stage):
    """The settings that a stage's results depend on: a rule parameter, so that changing one re-runs the stage."""

    def settings(wildcards):
        scenario = SUITE.scenarios[wildcards.scenario]
        return json.dumps(stages.relevant_settings(stage, scenario), sort_keys=True)

    return settings


def stage_code(stage):
    """The hash of the code that a stage runs: Snakemake itself does not look into packages."""

    def code(wildcards):
        scenario = SUITE.scenarios[wildcards.scenario]
        return code_hash(*stages.stage_modules(stage, scenario))

    return code


def dataset_files(wildcards):
    """The files of the scenario's dataset: replacing one re-runs what was made of it."""
    dataset = SUITE.scenarios[wildcards.scenario].dataset
    return source_files(dataset.name, dataset.source, DATA_ROOT)


def train_targets():
    return [
        str(paths.stage_folder(RUN.results, "train", scenario, block) / file)
        for scenario in SUITE.scenarios
        for block in SUITE.blocks
        for file in paths.TRAIN_FILES
    ]
