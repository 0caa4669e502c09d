"""The warm process: it has imported the libraries once, so that the jobs of a run start in a moment.

Each job of a run is a `python -m sifu ...` of its own, and many take less time than importing torch and pandas does.
So a run on this machine starts one more process, which imports them and waits. A job hands its command line over to
it and waits for the exit code: the warm process forks, and the child works with the job's files, folder and
environment. A job that is killed takes its child with it. On a cluster, on other systems than Linux, and with
SIFU_WARM=off, each job imports for itself; the results are the same.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import ClassVar, NoReturn

VARIABLE = "SIFU_WARM"  # where the warm process listens; "off": there shall be none
_LIBRARIES = ("torch", "pandas", "pyarrow.parquet", "scipy.stats", "safetensors.torch")
_FOR_COMMAND = {"figure": ("seaborn",)}  # imported when the first such command is handed over
_KILLED = 128 + signal.SIGKILL


class WarmProcess:
    """The warm process as the run sees it that starts and stops it."""

    command: ClassVar[list[str]] = [sys.executable, "-m", "sifu.cli.warm"]

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and tell all jobs where it listens; it ends with this process at the latest."""
        if sys.platform != "linux" or os.environ.get(VARIABLE) == "off":
            return
        path = str(Path(tempfile.mkdtemp(prefix="sifu-")) / "warm")  # the path of a socket must be short
        single = os.environ | {"OMP_NUM_THREADS": "1"}  # libraries that start threads cannot be forked
        self._process = subprocess.Popen(
            [*self.command, path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=single
        )
        os.environ[VARIABLE] = path

    def stop(self) -> None:
        if self._process is not None:
            os.environ.pop(VARIABLE, None)
            self._process.communicate()  # closes its input, which ends it


def hand_over(arguments: list[str]) -> int | None:
    """The exit code of a command that the warm process has run; None: there is no such process."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(os.environ[VARIABLE])
            socket.send_fds(connection, [b"\n"], [0, 1, 2])
        except (OSError, KeyError):
            return None
        lines = connection.makefile("rw")
        print(json.dumps([arguments, os.getcwd(), dict(os.environ)]), file=lines, flush=True)
        _forward_signals(int(lines.readline() or 0))
        return int(lines.readline() or _KILLED)


def _forward_signals(process: int) -> None:
    """From now on the signals that would end or stop this process reach the other one, whose exit code is awaited."""

    def forward(number: int, _: FrameType | None) -> None:
        os.kill(process, number)

    def pause(_: int, __: FrameType | None) -> None:
        os.kill(process, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)

    if not process:  # it was killed before it said its number
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        signal.signal(number, forward)
    signal.signal(signal.SIGTSTP, pause)  # Ctrl-Z


def serve(path: str) -> None:
    """Listen at `path`, and fork for every command that is handed over, until the input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches a job, which forwards it
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        _import(_LIBRARIES)
        _import_stages()
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            _fork(listener)
    shutil.rmtree(Path(path).parent)
    while _reaped(0):
        pass


def _import(libraries: tuple[str, ...]) -> None:
    for library in libraries:
        importlib.import_module(library)


def _import_stages() -> None:
    """All code of the stages, as it is now: an edit during a run concerns the next run. Its hash is made once, too."""
    from sifu.catalog.methods import METHODS
    from sifu.plan.code_hash import code_hash
    from sifu.plan.stage_spec import STAGES

    stages = [f"sifu.stages.{spec.folder or name}" for name, spec in STAGES.items()]
    modules = [*stages, "sifu.stages.report", *(entry.split(":")[0] for entry in METHODS.own.values())]
    for module in modules:
        with contextlib.suppress(Exception):  # of what cannot be imported, the job that needs it says so
            _import((module,))
            code_hash(module)


def _fork(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        line = connection.makefile("r").readline()
        if line:
            arguments, folder, environment = json.loads(line)
            _import(_FOR_COMMAND.get(arguments[0] if arguments else "", ()))
            if os.fork() == 0:
                listener.close()
                _work(connection, files, arguments, folder, environment)
        for file in files:
            os.close(file)
    while _reaped(os.WNOHANG):
        pass


def _reaped(options: int) -> bool:
    """Whether a child that had ended was cleared away."""
    try:
        return os.waitpid(-1, options)[0] != 0
    except ChildProcessError:
        return False


def _work(
    connection: socket.socket, files: list[int], arguments: list[str], folder: str, environment: dict[str, str]
) -> NoReturn:
    """In the child: become the job, run its command and report the exit code."""
    os.setsid()  # signals of the terminal reach the job, which forwards them
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({name: value for name, value in environment.items() if name != VARIABLE})
    threading.Thread(target=_die_with, args=(connection,), daemon=True).start()
    connection.sendall(f"{os.getpid()}\n".encode())
    code = _run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(f"{code}\n".encode())
    os._exit(code)


def _die_with(connection: socket.socket) -> None:
    """Nobody waits for this process any more once the other end of the connection is gone."""
    connection.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


def _run(arguments: list[str]) -> int:
    """The exit code of a command, as Python itself would give it."""
    from sifu.cli.main import main

    torch = sys.modules.get("torch")
    if torch is not None and "OMP_NUM_THREADS" in os.environ:  # torch reads it when it is imported
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


if __name__ == "__main__":
    serve(sys.argv[1])
