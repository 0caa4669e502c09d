"""The plan as Snakemake starts it: from its config files, for this machine or for a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sifu.config.blocks import refuse_missing_gpu, uses_gpu
from sifu.config.shipped import CHECKOUT
from sifu.errors import SifuError
from sifu.plan.catalog_check import check_catalogs
from sifu.plan.command_line import with_types
from sifu.plan.load import default_data_root, load_suite, read_yaml
from sifu.plan.model_check import check_models
from sifu.plan.stage_spec import STAGES
from sifu.plan.suite import Suite
from sifu.plan.targets import Targets
from sifu.store.timestamps import clamp_future_timestamps
from sifu.store.writable import refuse_unwritable


@dataclass(frozen=True)
class WorkflowPlan:
    """What the rules need besides the targets."""

    targets: Targets
    base: Path  # the folder of the Snakefile
    package: Path  # the folder of the package's own code
    config: Path  # folder of scenarios.yaml and variants.yaml
    data_root: Path
    rules: list[str]  # the files of the rules, one a stage or a few that belong together
    download: str  # the option that lets torchvision download; no parameter of a rule, as it changes no result
    gpu: int  # GPUs of a job: profiles/default lends one, as two trainings on it would be in each other's way
    command: str  # what a reader types to make a file again


def load_workflow(
    raw: Mapping[str, Any],
    base: Path,
    configfiles: Sequence[Path],
    *,
    remote: bool,
    nodes: int | None,
    cores: int | None,
    main: bool,
    dry: bool = False,
) -> WorkflowPlan:
    """The plan of `raw`, the merged config; `base`: the Snakefile's folder; `configfiles`: the command line's first;
    `dry`: jobs are only listed.
    """
    files = [read_yaml(file) for file in configfiles]  # stricter than Snakemake: no key twice
    check_catalogs()
    first = configfiles[0].absolute()
    suite = load_suite(with_types(raw, files), first.parent)
    for notice in suite.notices():
        print(notice, file=sys.stderr)
    if not suite.scenarios:
        raise SifuError(
            "every scenario is left out, so there is nothing to run; is SIFU_DATA_ROOT, or data_root, right?"
        )
    if main:
        refuse_unwritable(suite.run.results, [*STAGES, "report"])
        check_models(suite)
        _mend_timestamps(suite.run.results)
    # jobs run on other machines: this is one of theirs, or there is a number of jobs (a dry run has one, and one core)
    cluster = remote or (nodes is not None and cores != 1)
    if main and not cluster and not dry:  # a dry run for a cluster looks as one for this machine
        refuse_missing_gpu(suite.run.device)
    if cluster:
        _refuse_chosen_sizes(suite)
    data_root = default_data_root(suite.run)
    return WorkflowPlan(
        Targets(suite, data_root),
        base,
        Path(__file__).parents[1],
        first.parent,
        data_root,
        [str(file) for file in sorted((base / "workflow" / "rules").glob("*.smk")) if file.name != "common.smk"],
        "--download" if suite.run.download else "",
        int(uses_gpu(suite.run.device, cluster)),
        _command(first, base),
    )


def _refuse_chosen_sizes(suite: Suite) -> None:
    """Refuse sizes of blocks that each machine of a cluster would choose for itself."""
    oracles = suite.run.oracles
    if oracles is not None and oracles.block_size is None:
        raise SifuError("oracles.block_size: null is refused on a cluster, as each machine would choose another")
    if suite.run.block_size is None:
        raise SifuError(
            "block_size: null is refused on a cluster; allowed: a number of seeds (--config block_size=10), "
            "as each machine would choose another"
        )


def _command(config: Path, base: Path) -> str:
    """What a reader types: Snakemake in a checkout, `sifu` where the package is installed."""
    if CHECKOUT:
        return f"snakemake --cores 4 --configfile {os.path.relpath(config, base)}"
    return "sifu run" + ("" if config.is_relative_to(base) else f" --config {os.path.relpath(config)}")


def _mend_timestamps(results: str) -> None:
    """Files dated ahead of this machine's clock would look newer than what is made now."""
    ahead = clamp_future_timestamps(results)
    if ahead:
        words = "are dated ahead of this machine's clock: they get its time"
        print(f"{ahead} files under {results} {words}", file=sys.stderr)
