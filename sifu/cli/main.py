"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import argparse
import sys

from sifu import __version__
from sifu.cli.certificates import add_certificates
from sifu.cli.commands import Commands
from sifu.cli.replication import add_replication
from sifu.cli.report import add_report
from sifu.cli.run import add_run
from sifu.cli.stages import add_stages
from sifu.cli.upkeep import add_upkeep
from sifu.errors import SifuError


def main(arguments: list[str] | None = None) -> int:
    """Run a sub-command; bad input ends with one sentence on stderr and the exit code 2."""
    parsed = parser().parse_args(arguments)
    try:
        return int(parsed.command(parsed) or 0)  # a command that only prints returns nothing
    except BrokenPipeError:  # the reader has seen enough
        return 0
    except (SifuError, OSError) as error:  # OSError: a folder that is a file, a full disk
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="sifu",
        usage="python -m sifu COMMAND [options]",
        description="A benchmark suite for federated unlearning.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = Commands(parser)
    for add in (add_run, add_report, add_stages, add_certificates, add_replication, add_upkeep):
        add(commands)
    parser.epilog = commands.overview()
    return parser
