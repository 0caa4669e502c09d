"""`python -m sifu run`: Snakemake with one line of progress, then the findings."""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shlex
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import IO

from sifu.cli.commands import EVERYDAY, Commands
from sifu.cli.key_values import key_values
from sifu.cli.run_display import FAILED, LOCKED, VARIABLE, last_words
from sifu.config.shipped import SUITE, config_file
from sifu.config.yaml_file import read_yaml
from sifu.errors import SifuError
from sifu.plan.command_line import is_dry
from sifu.plan.workflow import WorkflowPlan, load_workflow
from sifu.store.lock import open_lock
from sifu.store.paths import report_folder, tables_folder

_LOGGER = SUITE / "workflow" / "logger"  # Snakemake finds plugins on Python's path
_TAKEN = (
    "another run is at work on these results, so wait for its end; if there is none, a killed one left its lock, which "
    "the same command with `-- --unlock` removes"
)


def add_run(commands: Commands) -> None:
    text = "Run everything that a config plans, with one line of progress, and print the findings."
    parser = commands.add(EVERYDAY, "run", text, _run)
    parser.add_argument("--config", type=Path, default=config_file("config.yaml"), help="default: %(default)s")
    words = "how many cores its jobs may use, or all (default: %(default)s)"
    parser.add_argument("--cores", type=_cores, default="4", metavar="N", help=words)
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="other values of the config's keys")
    parser.add_argument("--scroll", action="store_true", help="show all that Snakemake and the jobs print")
    parser.add_argument("more", nargs="*", metavar="-- OPTION", help="further options of Snakemake, after `--`")


def _cores(text: str) -> str:
    """What Snakemake takes; with no core at all it would wait for ever."""
    if text != "all" and not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is refused; allowed: a whole number of 1 or more, or all")
    return text


def _run(parsed: argparse.Namespace) -> int:
    if "--config" in parsed.more:
        raise SifuError("-- --config: give keys of the config as --set KEY=VALUE instead")
    plan = _plan(parsed)  # what is wrong is said here in one sentence, before Snakemake starts
    command = [sys.executable, "-m", "snakemake", *parsed.more]  # first: --configfile would take a target for a file
    given = ["--snakefile", str(SUITE / "Snakefile"), "--cores", parsed.cores, "--configfile", str(parsed.config)]
    given += ["--config", *parsed.set] if parsed.set else []
    dry = is_dry(parsed.more)
    runs = not dry and "--unlock" not in parsed.more
    scrolls = parsed.scroll or not runs
    code = _scrolled([*command, *given]) if scrolls else _watched([*command, "--logger", "sifu", *given])
    report = plan.targets.suite.report_plan()
    if code == 0 and runs and _is_reported(report.results):
        from sifu.report.summary import print_findings

        print_findings(report, _summary_command(parsed))
    return code


def _summary_command(parsed: argparse.Namespace) -> str:
    """What prints the tables of this run, as a shell in this folder takes it."""
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    config = [] if parsed.config == config_file("config.yaml") else ["--config", str(parsed.config)]
    changed = ["--set", *parsed.set] if parsed.set else []
    return shlex.join([str(python), "-m", "sifu", "summary", *config, *changed])


def _is_reported(results: str) -> bool:
    """Whether there is a report to speak of; a run may be asked for other files alone."""
    return (tables_folder(report_folder(results)) / "statistics.parquet").exists()


def _plan(parsed: argparse.Namespace) -> WorkflowPlan:
    """The plan of the run, as the Snakefile makes it."""
    raw = read_yaml(parsed.config) | key_values(parsed.set)
    files, dry = [parsed.config], is_dry(parsed.more)
    return load_workflow(raw, SUITE, files, remote=False, nodes=None, cores=None, main=True, dry=dry)


def _scrolled(command: list[str]) -> int:
    """The exit code of a run that prints for itself."""
    return _ended(subprocess.Popen(command))


def _watched(command: list[str]) -> int:
    """The exit code of a run whose events a person sees, and whose output lies in a file."""
    display = os.dup(sys.stderr.fileno())
    path = os.pathsep.join(filter(None, (str(_LOGGER), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {VARIABLE: str(display), "PYTHONPATH": path}
    print("planning ...", file=sys.stderr)
    with _own_log(Path(".snakemake") / "log") as out:
        log = Path(out.name)
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, pass_fds=[display])
        code = _ended(process)
        said = log.read_text(errors="replace").splitlines()
    if code and any(line.startswith(LOCKED) for line in said):
        raise SifuError(_TAKEN)
    if code:
        shown = any(line.startswith(FAILED) for line in said)
        words = "" if shown else f"; in short: {last_words(str(log)).removeprefix('error: ')}"
        raise SifuError(f"the run ended early, and the same command goes on from here; all output: {log}{words}")
    return 0


def _own_log(folder: Path) -> IO[bytes]:
    """An empty file for the output of this run alone: another run in this folder may be writing to the first one."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        log = open_lock(folder / ("run.txt" if number == 1 else f"run_{number}.txt"))
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.close()
            continue
        except OSError:  # a file system without locks
            pass
        log.truncate(0)
        return log
    raise AssertionError


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait; Ctrl-C reaches Snakemake as well, which ends its jobs first. So does what asks this process to end."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue
    finally:
        signal.signal(signal.SIGTERM, before)
