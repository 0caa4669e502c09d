"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import argparse
import os
import sys

from sifu import __version__
from sifu.cli.atlas import add_atlas
from sifu.cli.audit import add_audit
from sifu.cli.certificates import add_certificates
from sifu.cli.commands import Commands, Parser
from sifu.cli.contract import add_contract
from sifu.cli.replication import add_replication
from sifu.cli.report import add_report
from sifu.cli.run import add_run
from sifu.cli.stages import add_stages
from sifu.cli.submission import add_submission
from sifu.cli.upkeep import add_upkeep
from sifu.errors import SifuError


def main(arguments: list[str] | None = None) -> int:
    """Run a sub-command; bad input ends with one sentence on stderr and the exit code 2."""
    parsed = parser().parse_args(arguments)
    try:
        code = int(parsed.command(parsed) or 0)  # a command that only prints returns nothing
        sys.stdout.flush()  # here, where a reader that is gone is no error
        return code
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python itself writes at its end
        return 0
    except SifuError as error:
        return _refused(str(error))
    except OSError as error:  # a folder that is a file, a full disk
        return _refused(f"{error.strerror}: {error.filename}" if error.filename else str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _refused(sentence: str) -> int:
    print(f"error: {sentence}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = Parser(
        prog="python -m sifu",
        usage="python -m sifu COMMAND [options]",
        description="A benchmark suite for federated unlearning.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = Commands(parser)
    parts = (add_run, add_report, add_atlas, add_stages, add_contract, add_certificates, add_audit, add_replication)
    for add in (*parts, add_submission, add_upkeep):
        add(commands)
    parser.epilog = commands.overview()
    return parser
