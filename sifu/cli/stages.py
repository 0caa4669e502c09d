"""One sub-command a stage, from the stages' records."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from sifu.catalog.lookup import resolve
from sifu.cli.commands import STAGE, Commands
from sifu.config.run import PRECISIONS
from sifu.config.shipped import config_file
from sifu.errors import ConfigError
from sifu.plan.stage_spec import STAGES, StageSpec


def add_stages(commands: Commands) -> None:
    for spec in STAGES.values():
        if not spec.folder:  # a stage with another's folder is run by that one's command
            _add_stage(commands, spec)


def _add_stage(commands: Commands, spec: StageSpec) -> None:
    names = {"null_space": ["null-space"]}.get(spec.name, [])  # the older spelling
    parser = commands.add(STAGE, spec.command or spec.name, spec.does, partial(_run, spec.name), aliases=names)
    parser.add_argument("--results", default="results", help="folder of all results (default: %(default)s)")
    if spec.jobs != "once":
        _add_block(parser)
    for flag, text, keywords in spec.options:
        parser.add_argument(flag, help=text, **keywords)
    if spec.trains:
        _add_device(parser)


def _add_block(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scenario", required=True, help="name in scenarios.yaml")
    parser.add_argument("--block", required=True, help="seeds to do together, such as s000-009")
    parser.add_argument(
        "--config",
        type=Path,
        default=config_file("scenarios.yaml").parent,
        help="folder of scenarios.yaml and variants.yaml",
    )
    parser.add_argument("--data-root", type=Path, help="folder of the datasets; default: SIFU_DATA_ROOT, else data")


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: %(default)s)")
    parser.add_argument(
        "--precision", choices=PRECISIONS, default="tf32", help="of networks on a GPU (default: %(default)s)"
    )
    parser.add_argument(
        "--checkpoint-seconds", type=float, default=60.0, help="work that a kill may cost (default: %(default)s)"
    )


def _run(stage: str, parsed: argparse.Namespace) -> int:
    from sifu.hardware.gpu_room import run_or_wait
    from sifu.stages.call import StageCall

    _refuse(parsed)
    command = resolve(f"sifu.stages.{stage}:command")
    return run_or_wait(lambda: command(StageCall(stage, parsed)))


def _refuse(parsed: argparse.Namespace) -> None:
    seconds = getattr(parsed, "checkpoint_seconds", 0.0)  # a stage that trains nothing has none
    if not 0 <= seconds <= 1_000_000:  # as in the config; this refuses nan, too
        raise ConfigError("--checkpoint-seconds", seconds, "0 or more, at most 1000000")
