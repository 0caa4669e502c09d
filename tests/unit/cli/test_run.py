"""`python -m sifu run`: what it refuses before Snakemake starts, and the command that its last line names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sifu.cli import run
from sifu.cli.main import main
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


@pytest.mark.parametrize(
    ("config", "results", "options"),
    [
        pytest.param("config.yaml", "results", "", marks=pytest.mark.long),
        pytest.param("my small run.yaml", "results", " --config 'config/my small run.yaml'", marks=pytest.mark.long),
        ("small.yaml", "other", " --config config/small.yaml --set results=other num_seeds=2"),
    ],
)
def test_the_command_that_the_last_line_names_works(
    config: str,
    results: str,
    options: str,
    small_run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It prints the tables of this run: of its config, and of the values that were set."""
    root = tmp_path / "root"
    shutil.copytree(small_run, root)
    (root / "config" / "small.yaml").replace(root / "config" / config)
    (root / "results").replace(root / results)
    monkeypatch.chdir(root)
    monkeypatch.setattr(run, "_watched", lambda command: 0)  # it has been run
    changed = ["--set", f"results={results}", "num_seeds=2"] if results != "results" else []
    assert main(["run", "--config", f"config/{config}", *changed]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    named = re.fullmatch(r"open \S+ \(all tables: (.*/python\S* -m sifu summary(.*))\)", last)
    assert named, last
    assert named[2] == options
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    done = subprocess.run(named[1], shell=True, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Training: mean (range)" in done.stdout
    assert "Unlearning in smoke" in done.stdout
