"""Commands with a time limit, and the processes and files that a Slurm may leave on a machine."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

_DAEMONS = ("munged", "slurmctld", "slurmd", "slurmstepd", "slurmscriptd", "srun")
_PLACES = (
    "/etc/slurm",
    "/var/lib/slurm",
    "/var/log/slurm",
    "/var/spool",
    "/var/log/munge",
    "/var/lib/munge",
    "/run/munge",
)


def limited(
    command: Iterable[str], seconds: int, folder: Path, environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Exit status and output of a command; after `seconds` it is killed, with all that it started.

    If the tests are killed, it is killed too: otherwise it would send its jobs to the Slurm of the next test.
    """
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return -signal.SIGKILL, f"{output}\nkilled after {seconds} seconds"


def traces() -> set[str]:
    """Processes and files of a Slurm on this machine; zombies do not count."""
    return {f"process {text}" for text in _processes()} | {f"file {path}" for path in _files()}


def _processes() -> list[str]:
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, state = (
                (folder / "comm").read_text().strip(),
                (folder / "stat").read_text().rsplit(")", 1)[1].split()[0],
            )
        except OSError:  # it has ended
            continue
        if name in _DAEMONS and state != "Z":
            running.append(f"{name} {folder.name}")
    return running


def _files() -> list[str]:
    return [str(path) for place in _PLACES for path in Path(place).rglob("*")]
