# Loads the config once, refuses what is wrong before any job starts, and answers the rules' questions.
import json
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from sifu import paths, stages
from sifu.codehash import code_hash
from sifu.config import default_data_root, load_suite
from sifu.errors import SifuError

try:
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
USES_GPU = 0 if RUN.device == "cpu" else 1


wildcard_constraints:
    scenario="[a-z0-9_]+",
    block=r"s\d+-\d+",


def stage_path(stage, file):
    return str(paths.stage_folder(RUN.results, stage, "{scenario}", "{block}") / file)


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


def train_targets():
    return [
        str(paths.stage_folder(RUN.results, "train", scenario, block) / file)
        for scenario in SUITE.scenarios
        for block in SUITE.blocks
        for file in paths.TRAIN_FILES
    ]
