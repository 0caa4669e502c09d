# Loads the plan once and refuses what is wrong before any job starts. All answers to the rules are in sifu/plan/targets.py.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from sifu.cli.warm import WarmProcess
from sifu.errors import SifuError
from sifu.plan.command_line import is_dry
from sifu.plan.workflow import load_workflow

try:
    PLAN = load_workflow(
        config,
        Path(workflow.basedir),
        [Path(file) for file in workflow.configfiles],
        remote=workflow.remote_exec,
        nodes=workflow.resource_settings.nodes,
        cores=workflow.resource_settings.cores,
        main=workflow.is_main_process,
        dry=is_dry(sys.argv[1:]),
    )
except SifuError as error:
    raise WorkflowError(str(error))

PY = sys.executable
RUN = PLAN.targets.run
GPU = PLAN.gpu
TARGETS = PLAN.targets
WARM = WarmProcess()
LOGGED = " 2>&1 | tee {log:q} >&2"
BLOCK = " {params.options} --scenario {wildcards.scenario} --block {wildcards.block} --config {PLAN.config:q} --results {RUN.results:q} --data-root {PLAN.data_root:q}"
DEVICE = " --device {RUN.device} --threads {threads} --precision {RUN.precision} --checkpoint-seconds {RUN.checkpoint_seconds}"


wildcard_constraints:
    **TARGETS.constraints(),
