"""`python -m sifu run`: what it refuses before Snakemake starts, and the command that its last line names."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sifu.cli import run
from sifu.cli.main import main
from sifu.errors import SifuError
from tests.conftest import REPO, one_sentence


@pytest.mark.parametrize("cores", ["0", "-1", "two", "1.5", ""])
def test_cores_that_nothing_could_run_on(cores: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused while the command line is read: with no core Snakemake waits for ever."""
    with pytest.raises(SystemExit) as caught:
        main(["run", "--config", "/none.yaml", "--cores", cores])
    assert caught.value.code == 2
    assert f"--cores: '{cores}' is refused; allowed: a whole number of 1 or more, or all" in one_sentence(capsys)


@pytest.mark.parametrize("cores", ["1", "16", "all"])
def test_cores_that_a_run_may_have(cores: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--config", "/none.yaml", "--cores", cores]) == 2
    assert "cannot read /none.yaml" in one_sentence(capsys)


def test_runs_at_the_same_time_have_logs_of_their_own(tmp_path: Path) -> None:
    """A second run once emptied the log of the first, and took the other's last line for its own."""
    with run._own_log(tmp_path / "log") as first:
        first.write(b"mine")
        first.flush()
        with run._own_log(tmp_path / "log") as second:
            assert Path(second.name) != Path(first.name)
        assert Path(first.name).read_bytes() == b"mine"
    with run._own_log(tmp_path / "log") as again:
        assert Path(again.name) == Path(first.name)
        assert not Path(again.name).read_bytes(), "the next run starts anew"


def test_the_lock_of_another_run_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SifuError, match=r"^another run is at work .* `-- --unlock` removes$"):
        run._watched([sys.executable, "-c", "print('LockException:\\nmany words'); raise SystemExit(1)"])


def test_a_run_that_is_asked_to_end_ends_snakemake(tmp_path: Path) -> None:
    """`kill` and `timeout` reach this process alone; Snakemake went on without it."""
    words = "import os, signal, sys, time; os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)"
    started = time.monotonic()
    assert run._scrolled([sys.executable, "-c", words]) == -signal.SIGTERM
    assert time.monotonic() - started < 30


def last_line(root: Path, config: str, results: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The command that a run names in its last line; `root`: a copy of a run that is over, which gets these names."""
    (root / "config" / "small.yaml").replace(root / "config" / config)
    (root / "results").replace(root / results)
    changed = ["--set", f"results={results}", "num_seeds=2"] if results != "results" else []
    assert main(["run", "--config", f"config/{config}", *changed]) == 0
    named = re.fullmatch(r"open \S+ \(all tables: (.*)\)", capsys.readouterr().out.splitlines()[-1])
    assert named
    return named[1]


@pytest.fixture
def copy(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small run, in which `run` has nothing left to do."""
    monkeypatch.chdir(shutil.copytree(small_run, tmp_path / "root"))
    monkeypatch.setattr(run, "_watched", lambda command: 0)
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("config", "results", "options"),
    [
        ("config.yaml", "results", []),
        ("my small run.yaml", "results", ["--config", "config/my small run.yaml"]),
        ("small.yaml", "other", ["--config", "config/small.yaml", "--set", "results=other", "num_seeds=2"]),
    ],
)
def test_the_command_that_the_last_line_names_works(
    config: str, results: str, options: list[str], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints the tables of this run: of its config, and of the values that were set."""
    python, *words = shlex.split(last_line(copy, config, results, capsys))
    assert Path(python).samefile(sys.executable)
    assert words == ["-m", "sifu", "summary", *options]
    assert main(words[2:]) == 0
    shown = capsys.readouterr().out
    assert "Training: mean (range)" in shown
    assert "Unlearning in smoke" in shown


@pytest.mark.second
def test_a_shell_takes_the_command_as_it_stands(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = last_line(copy, "my small run.yaml", "results", capsys)
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    done = subprocess.run(command, shell=True, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Unlearning in smoke" in done.stdout
