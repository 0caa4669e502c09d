"""A run in a copy of the checkout, as on a machine without a package index, and what comes back of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sifu.cli.main import main
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import read_stamp, read_table
from sifu.store.schemas import METRICS
from tests.conftest import REPO, made_once
from tests.small_run import BLOCK, run_small
from tests.workflow.conftest import Checkout, parse_plan

ALPHA_FILE = "results/smoke/alpha/smoke/s000-001/alpha.parquet"


def script(
    name: str, *arguments: str, python: str = sys.executable, checkout: Path = REPO, deaf: bool = False
) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(checkout / "workflow" / "offline" / name), *arguments]
    environment = os.environ | {"PYTHON": python, "SIFU_COMMIT": "abc"}
    ignore = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if deaf else None
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, preexec_fn=ignore)


def run(folder: Path, *arguments: str, **where: Any) -> subprocess.CompletedProcess[str]:
    usual = ["-w", str(folder / "copy"), "-d", str(folder), "-c", "config/smoke.yaml", "-j", "1"]
    return script("run.sh", *usual, *arguments, **where)


@pytest.mark.long
def test_a_file_that_is_asked_for_comes_back(tmp_path: Path) -> None:
    """With its training's cells and the times of both, but without history and partition."""
    done = run(tmp_path, "-o", str(tmp_path / "out"), ALPHA_FILE)
    assert done.returncode == 0, done.stdout + done.stderr
    (part,) = (tmp_path / "out").iterdir()
    with tarfile.open(part) as archive:
        archive.extractall(tmp_path / "back", filter="data")
    back = tmp_path / "back"
    found = {str(path.relative_to(back / "results" / "smoke")) for path in back.rglob("*") if path.is_file()}
    alpha, train = "alpha/smoke/s000-001", "train/smoke/s000-001"
    times = {f"{folder}/time.json" for folder in (alpha, train)}
    assert found == {f"{alpha}/alpha.parquet", f"{train}/cells.parquet"} | times
    assert len(read_table(back / ALPHA_FILE, ALPHA)) > 0
    assert read_stamp(back / ALPHA_FILE)["commit"] == "abc"


@pytest.mark.long
def test_a_run_that_is_out_of_time_is_stopped_and_packed(tmp_path: Path) -> None:
    """Also under a shell that ignores interrupts, as one in the background does. The whole grid takes a minute."""
    usual = ["-w", str(tmp_path / "copy"), "-d", str(tmp_path), "-c", "config/smoke.yaml", "-j", "1"]
    out = os.path.relpath(tmp_path / "out")  # of the folder that it is called in
    done = script("run.sh", *usual, "-t", "15", "-o", out, deaf=True)
    assert done.returncode == 124, done.stdout + done.stderr  # `timeout` stopped it; 137: it had to be killed
    (part,) = (tmp_path / "out").iterdir()
    with tarfile.open(part) as archive:  # of what was finished: on a slow machine nothing
        assert all(name.startswith("results/smoke/") for name in archive.getnames())


@pytest.mark.long
def test_without_files_it_makes_what_is_missing(tmp_path: Path) -> None:
    """The smoke config is planned whole: nobody keeps its results. Started again, a run keeps what was measured method
    by method, and measures all of them once they are done.
    """
    metrics = tmp_path / "copy" / "results" / "smoke" / "verify" / "smoke" / "s000-001" / "metrics.parquet"
    measured = tmp_path / "copy" / ".measured" / "results" / "smoke" / "smoke" / "s000-001"
    for folder in (metrics.parent, measured):
        folder.mkdir(parents=True)
    metrics.touch()
    planned = run(tmp_path, "-a", "-n")
    assert metrics.exists()
    assert measured.exists()
    assert planned.returncode == 0, planned.stdout + planned.stderr
    counts = parse_plan(planned.stdout + planned.stderr)
    assert (counts["unlearn"], counts["verify"]) == (4, 1)  # scratch, sifu, last, dp_smoke
    assert counts["search"] == counts["sweep"] == counts["request_sets"] == counts["null_space"] == 1
    assert "report" not in counts
    jobs = (planned.stdout + planned.stderr).split("\n[")
    (scratch,) = [job for job in jobs if "rule unlearn:" in job and "part=scratch" in job]
    assert "priority: highest" in scratch  # the others are measured against it


@pytest.mark.long
def test_searches_of_before_are_not_made_again(tmp_path: Path, checkout: Checkout) -> None:
    """Though a scenario's search has seeds, and so a new partition, of its own, which those of methods depend on."""
    folder = checkout.root / "results" / "smoke" / "search" / "smoke" / "dp_smoke" / "s1000000-1000000"
    folder.mkdir(parents=True)
    (folder / "search.parquet").touch()
    wanted = [
        "results/smoke/train/smoke/dp_smoke/s000-001/cells.parquet",
        "results/smoke/scenario_search/smoke/clip/s1000000-1000000/scenario_search.parquet",
    ]
    planned = run(tmp_path, "-a", "-n", *wanted, checkout=checkout.root)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert "search" not in parse_plan(planned.stdout + planned.stderr)


def test_finished_tables_are_packed_without_histories(tmp_path: Path) -> None:
    """Of what run.sh has finished: a table that was there before, and what only the next stage needs, stay behind."""
    train = tmp_path / "copy" / "results" / "train" / "x" / "s000-001"
    train.mkdir(parents=True)
    before = train.parent / "cells.parquet"
    before.touch()
    os.utime(before, (0, 0))
    (tmp_path / "copy" / ".began").touch()
    os.utime(tmp_path / "copy" / ".began", (1000, 1000))
    for name in ("cells.parquet", "time.json", "curves.parquet", "history.safetensors"):
        (train / name).write_text(name)
    packed = script("collect.sh", str(tmp_path / "copy"), str(tmp_path / "out"))
    assert packed.returncode == 0, packed.stderr
    (part,) = (tmp_path / "out").iterdir()
    with tarfile.open(part) as archive:
        assert sorted(Path(name).name for name in archive.getnames()) == ["cells.parquet", "time.json"]


@pytest.mark.long
def test_models_of_a_run_that_was_cut_off_are_measured(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """DP-FedAvg is not done, so nothing was verified. Measured later, it makes the table that the run itself makes."""
    copy = tmp_path / "copy"
    shutil.copytree(made_once(tmp_path_factory, "small_run", run_small), copy)
    (copy / "results").rename(copy / "small")
    (copy / "results").mkdir()
    (copy / "small").rename(copy / "results" / "small")
    (copy / ".began").touch()
    metrics = copy / "results" / "small" / "verify" / "smoke" / BLOCK / "metrics.parquet"
    whole = read_table(metrics, METRICS)
    shutil.rmtree(metrics.parent)
    cells = copy / "results" / "small" / "unlearn" / "smoke" / "dp_smoke" / BLOCK / "cells.parquet"
    later = cells.read_bytes()
    cells.unlink()
    done = script("verify.sh", str(copy), str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"smoke {BLOCK}: scratch sifu\n")
    assert set(read_table(metrics, METRICS)["variant"]) == {"scratch", "sifu"}
    assert script("verify.sh", str(copy), str(tmp_path)).stdout == ""
    cells.write_bytes(later)
    done = script("verify.sh", str(copy), str(tmp_path))
    assert done.stdout == f"smoke {BLOCK}: scratch dp_smoke\n", done.stderr
    assert read_table(metrics, METRICS).equals(whole)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("run.sh", ["-w", "somewhere"], "run.sh -w FOLDER -d DATA"),
        ("run.sh", ["-w", "somewhere", "-d", "/nowhere"], "error: -d /nowhere: there is no such folder"),
        ("collect.sh", ["/", "out"], "error: / is no folder of run.sh"),
        ("verify.sh", ["/"], "verify.sh FOLDER DATA"),
        ("verify.sh", ["/", "/"], "error: / is no folder of run.sh"),
        ("pack.sh", [], "pack.sh OUT.tar.xz"),
        ("run.sh", ["-w", "somewhere", "-d", "/", "-j", "0"], "error: -j 0: it must be a whole number of 1 or more"),
        ("run.sh", ["-w", "somewhere", "-d", "/", "-j", "two"], "error: -j two: it must be a whole number"),
    ],
)
def test_wrong_arguments(name: str, arguments: list[str], words: str) -> None:
    refused = script(name, *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert words in refused.stderr


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize(
    "name", ["offline/run.sh", "offline/pack.sh", "offline/collect.sh", "offline/verify.sh", "install.sh"]
)
def test_who_asks_for_help_gets_it(name: str, option: str) -> None:
    """On stdout, with the way to call the script; nothing is wrong."""
    helped = script(f"../{name}", option)
    assert (helped.returncode, helped.stderr) == (0, "")
    assert re.search(rf"^  {Path(name).name} \S", helped.stdout, re.MULTILINE)
    assert "set -" not in helped.stdout


def test_a_python_without_packages_is_no_finished_run(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho no module >&2\nexit 1\n")
    bare.chmod(0o755)
    refused = run(tmp_path, python=str(bare))
    assert refused.returncode != 0
    assert "nothing is missing" not in refused.stdout


def test_missing_tables_are_listed_a_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIFU_DATA_ROOT", str(tmp_path))
    assert main(["missing", "--config", str(REPO / "config" / "smoke.yaml")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ALPHA_FILE in lines
    for line in lines:
        (tmp_path / line).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / line).touch()
    assert main(["missing", "--config", str(REPO / "config" / "smoke.yaml")]) == 0
    assert capsys.readouterr().out == ""


def test_missing_tables_of_a_part_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIFU_DATA_ROOT", str(tmp_path))
    asked = ["missing", "--config", str(REPO / "config" / "smoke.yaml")]
    assert main([*asked, "--scenario", "smoke", "--seeds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all("/smoke/" in line for line in lines)
    for refused in (["--scenario", "smok"], ["--seeds", "0"]):
        assert main([*asked, *refused]) == 2
        assert refused[1] in capsys.readouterr().err
