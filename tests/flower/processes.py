"""Flower as processes on this machine: a SuperLink, SuperNodes, `flwr run`. All of them carry a mark."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.conftest import REPO

BIN, APP, MARK = Path(sys.executable).parent, REPO / "examples" / "flower", "SIFU_FLOWER_TEST"
PATIENCE = 120.0  # seconds for anything: other work may share the cores


@dataclass
class Flower:
    """The processes of a test; logs and settings lie in `folder`."""

    folder: Path
    port: int
    environment: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a program of Flower; what it prints goes to `name`.log."""
        with open(self.folder / f"{name}.log", "wb") as log:
            arguments = [str(BIN / command[0]), *command[1:]]
            process = subprocess.Popen(arguments, stdout=log, stderr=log, env=self.environment, cwd=self.folder)
        self.started.append(process)
        return process

    def superlink(self, *options: str) -> None:
        """Start a SuperLink, and wait until it listens."""
        always = ("--insecure", "--port", str(self.port), "--disable-runtime-dependency-installation")
        process = self.start("superlink", "flower-superlink", *always, *options)
        wait_for(lambda: "Uvicorn running" in self.log("superlink"), "the SuperLink listens", process)

    def supernode(self, client: int) -> subprocess.Popen[bytes]:
        """Start the SuperNode of a client."""
        address = ("--superlink", f"127.0.0.1:{self.port}", "--port", str(free_port()))
        config = ("--node-config", f"partition-id={client}")
        return self.start(f"supernode-{client}", "flower-supernode", "--insecure", *address, *config)

    def run(self, name: str, **config: object) -> subprocess.Popen[bytes]:
        """Start the example with `flwr run`; what the server prints goes to `name`.log."""
        values = " ".join(f"{key.replace('_', '-')}={_toml(value)}" for key, value in config.items())
        return self.start(name, "flwr", "run", str(APP), "test", "--stream", "--run-config", values)

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def processes(self, program: str = "") -> list[psutil.Process]:
        """The processes that carry the mark, of a program."""
        return [process for process in marked(self.environment[MARK]) if program in _command(process)]


def _toml(value: object) -> str:
    return f"'{value}'" if isinstance(value, str | Path) else str(value)


@contextlib.contextmanager
def flower(folder: Path, options: str = "") -> Iterator[Flower]:
    """Settings for the processes of a test; all of them are ended with it."""
    port, home = free_port(), folder / "home"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "test"\n\n[superlink.test]\naddress = "127.0.0.1:{port}"\ninsecure = true\n{options}'
    )
    own = {"FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    own |= {"OMP_NUM_THREADS": "1", MARK: uuid.uuid4().hex, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    started = Flower(folder, port, os.environ | own)
    try:
        yield started
    finally:
        end(started)
        for process in started.started:
            process.wait(timeout=30)


def marked(mark: str) -> list[psutil.Process]:
    """The processes that were started with a mark, or by one that was."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def descendants(started: list[subprocess.Popen[bytes]]) -> list[psutil.Process]:
    """All that the processes of a test have started: once a parent has ended, nobody can tell any more."""
    found: list[psutil.Process] = []
    for process in started:
        with contextlib.suppress(psutil.Error):
            if process.poll() is None:
                found += [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    return found


def end(flower: Flower) -> None:
    """End all processes of a test: politely, then at once."""
    first = descendants(flower.started)
    for sign in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        processes = list({*first, *marked(flower.environment[MARK])})
        for process in processes:
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                process.send_signal(sign)  # psutil knows whether the id is still that process
        psutil.wait_procs(processes, timeout=5)


def wait_for(happened: Callable[[], bool], what: str, watched: subprocess.Popen[bytes]) -> None:
    """Wait until something has happened that the process `watched` does."""
    until = time.monotonic() + PATIENCE
    while not happened():
        ended = watched.poll() is not None and not happened()  # it may do it, and end
        assert not ended, f"{watched.args} ended before {what}"
        assert time.monotonic() < until, f"it took too long until {what}"
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
