"""Commands that are handed over to a warm process end as they do without one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from sifu import __version__
from sifu.cli import warm
from tests.conftest import REPO

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a warm process on Linux only")
LIGHT = "from sifu.cli import warm; warm._LIBRARIES = (); warm._import_stages = lambda: None; "
SLEEPS = "import time; warm._run = lambda arguments: time.sleep(60) or 0; "


class Server:
    """A warm process that has imported nothing: these tests are about what it does, not how fast."""

    def __init__(self, folder: Path, more: str = "") -> None:
        (folder / "own").mkdir()
        self.path = str(folder / "own" / "warm")
        command = [sys.executable, "-c", f"{LIGHT}{more}warm.serve({self.path!r})"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=REPO)
        until(lambda: Path(self.path).exists())

    def client(self, *arguments: str, **keywords: object) -> subprocess.Popen[str]:
        """`python -m sifu` with a warm process."""
        environment = os.environ | {warm.VARIABLE: self.path, "PYTHONPATH": str(REPO)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
        return subprocess.Popen([sys.executable, "-m", "sifu", *arguments], **(pipes | keywords))  # type: ignore[call-overload]


def until(happened: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(more: str = "") -> Server:
        servers.append(Server(tmp_path, more))
        return servers[-1]

    yield start
    for server in servers:
        server.process.communicate(timeout=60)
        assert not Path(server.path).parent.exists()  # nothing is left behind


def test_output_folder_and_exit_code_are_those_of_the_command(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve()
    out, err = (client := server.client("--version")).communicate()
    assert (client.returncode, out.strip(), err) == (0, __version__, "")
    out, err = (client := server.client("nothing")).communicate()
    assert (client.returncode, out) == (2, "")
    assert "nothing" in err
    (tmp_path / "empty.yaml").write_text("[]")
    out, err = (client := server.client("summary", "--config", "empty.yaml", cwd=tmp_path)).communicate()
    assert client.returncode == 2
    assert err.startswith("error: empty.yaml")  # a relative path: the command ran in its caller's folder


def test_without_a_warm_process_the_command_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(warm.VARIABLE, str(tmp_path / "nobody"))
    assert warm.hand_over(["--version"]) is None
    monkeypatch.setenv(warm.VARIABLE, "off")
    assert warm.hand_over(["--version"]) is None


def handed_over(path: str) -> tuple[socket.socket, psutil.Process]:
    """A command given to the server by hand: the connection, and the process that works for it."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    socket.send_fds(connection, [b"\n"], [0, 1, 2])
    connection.sendall(json.dumps([["train"], os.getcwd(), dict(os.environ)]).encode() + b"\n")
    return connection, psutil.Process(int(connection.makefile().readline()))


def ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_job_that_is_killed_takes_its_work_with_it(serve: Callable[..., Server]) -> None:
    connection, working = handed_over(serve(SLEEPS).path)
    assert not ended(working)
    connection.close()  # as the kernel does when the job's process is killed
    until(lambda: ended(working))


def work_of(server: Server) -> psutil.Process:
    """The process that works for the server's only client, once the client knows its number."""
    children = lambda: psutil.Process(server.process.pid).children()  # noqa: E731
    until(lambda: bool(children()))
    (working,) = children()
    until(lambda: os.getsid(working.pid) == working.pid)
    time.sleep(0.2)
    return working


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_work(serve: Callable[..., Server], number: signal.Signals) -> None:
    server = serve(SLEEPS)
    client = server.client("train")
    working = work_of(server)
    client.send_signal(number)
    client.communicate(timeout=30)
    assert client.returncode != 0
    until(lambda: ended(working))


def test_a_job_that_is_paused_pauses_its_work(serve: Callable[..., Server]) -> None:
    server = serve(SLEEPS)
    client = server.client("train")
    working = work_of(server)
    client.send_signal(signal.SIGTSTP)
    until(lambda: working.status() == psutil.STATUS_STOPPED)
    until(lambda: psutil.Process(client.pid).status() == psutil.STATUS_STOPPED)
    client.send_signal(signal.SIGCONT)
    until(lambda: working.status() != psutil.STATUS_STOPPED)
    client.send_signal(signal.SIGTERM)
    client.communicate(timeout=30)
    until(lambda: ended(working))


def test_work_that_is_killed_is_reported(serve: Callable[..., Server]) -> None:
    connection, working = handed_over(serve(SLEEPS).path)
    working.kill()
    assert connection.makefile().readline() == ""  # which a job takes for the exit code of a killed process
    connection.close()


def test_a_run_starts_and_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    light = [sys.executable, "-c", f"{LIGHT}import sys; warm.serve(sys.argv[1])"]
    monkeypatch.setattr(warm.WarmProcess, "command", light)
    monkeypatch.delenv(warm.VARIABLE, raising=False)
    process = warm.WarmProcess()
    process.start()
    path = Path(os.environ[warm.VARIABLE])
    until(path.exists)
    assert path.parent.stat().st_mode & 0o777 == 0o700  # nobody else may hand commands over
    process.stop()
    assert warm.VARIABLE not in os.environ
    assert not path.parent.exists()


def test_none_is_started_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(warm.VARIABLE, "off")
    process = warm.WarmProcess()
    process.start()
    process.stop()
    assert os.environ[warm.VARIABLE] == "off"
