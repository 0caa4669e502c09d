"""The commands of the leaderboard: pack a method's tables, and check somebody else's."""

from __future__ import annotations

import argparse
from pathlib import Path

from sifu.cli.commands import LEADERBOARD, Commands
from sifu.config.fields import build
from sifu.config.run import PRECISIONS, Run
from sifu.config.shipped import config_file
from sifu.errors import ConfigError
from sifu.plan.load import default_data_root, read_yaml


def add_submission(commands: Commands) -> None:
    text = "Pack a variant's tables, a manifest and the code of its method into one archive."
    parser = commands.add(LEADERBOARD, "submit", text, _submit)
    parser.add_argument("variant", help="name in variants.yaml")
    parser.add_argument(
        "--config", type=Path, default=config_file("paper.yaml"), help="what was run (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, help="the archive to write (default: VARIANT.zip)")
    parser.add_argument("--link", default="", help="where the method is described")
    _add_check(commands)


def _add_check(commands: Commands) -> None:
    text = "Check a submission and run drawn cells of it again: a line a check, exit code 1 if one fails."
    parser = commands.add(LEADERBOARD, "check-submission", text, _check)
    parser.add_argument("file", type=Path, help="the archive")
    words = "its folder holds the scenarios to compare with (default: %(default)s)"
    parser.add_argument("--config", type=Path, default=config_file("paper.yaml"), help=words)
    parser.add_argument("--method", default="", help="`module:name` that the submission may name: it is imported")
    parser.add_argument("--cells", type=int, default=3, help="cells that are run again (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=10.0, help="on this device, roughly (default: %(default)s)")
    parser.add_argument("--sample-seed", type=int, help="draws the same cells again (default: others each time)")
    words = "which seeds to run: the cell's own, or its whole block"
    parser.add_argument("--seeds", choices=("auto", "own", "block"), default="auto", help=words)
    parser.add_argument("--data-root", type=Path, help="folder of the datasets; default: SIFU_DATA_ROOT, else data")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: %(default)s)")
    parser.add_argument("--precision", choices=PRECISIONS, default="tf32", help="of a GPU (default: %(default)s)")


def _submit(parsed: argparse.Namespace) -> None:
    from sifu.submission.pack import pack

    packed = pack(parsed.config, parsed.variant, parsed.out or Path(f"{parsed.variant}.zip"), parsed.link)
    print(f"wrote {packed.path}: {packed.files} files of {', '.join(packed.scenarios)}")


def _check(parsed: argparse.Namespace) -> int:
    from sifu.replication.recheck.rerun import Machine
    from sifu.submission.command import Drawn, check_submission

    for option, value in (("--cells", parsed.cells), ("--threads", parsed.threads)):
        if value < 1:
            raise ConfigError(option, value, "1 or more")
    if not parsed.minutes > 0:
        raise ConfigError("--minutes", parsed.minutes, "more than 0")
    run = build(Run, read_yaml(parsed.config), "")
    how = parsed.device, parsed.threads, parsed.precision, parsed.seeds
    machine = Machine(parsed.config.parent, Path(), parsed.data_root or default_data_root(run), *how)
    drawn = Drawn(parsed.cells, parsed.minutes, parsed.sample_seed)
    return check_submission(parsed.file, machine, drawn, parsed.method)
