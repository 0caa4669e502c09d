"""The package as pip installs it, without a checkout: the wheel carries the workflow and the configs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPO, made_once
from tests.workflow.conftest import ONCE, parse_plan

pytestmark = pytest.mark.second

PARTS = ("sifu", "config", "workflow", "profiles")
FILES = ("Snakefile", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")


def build(folder: Path) -> None:
    """A wheel of a copy of this checkout, unpacked as pip unpacks it."""
    for part in PARTS:
        shutil.copytree(REPO / part, folder / "copy" / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(REPO / file, folder / "copy")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "-w", str(folder), str(folder / "copy")], check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "wheel", build) / "site"


def sifu(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(site)}
    command = [sys.executable, "-P", "-m", "sifu", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_it_carries_what_a_checkout_has(site: Path) -> None:
    shipped = site / "sifu" / "shipped"
    for part in ("config", "workflow", "profiles"):
        ours = {path.relative_to(REPO) for path in (REPO / part).rglob("*") if path.is_file()}
        theirs = {path.relative_to(shipped) for path in (shipped / part).rglob("*") if path.is_file()}
        assert theirs == {path for path in ours if "__pycache__" not in path.parts}
    assert (shipped / "Snakefile").read_bytes() == (REPO / "Snakefile").read_bytes()
    assert {path.name for path in site.iterdir()} == {"sifu", f"sifu-{_version(site)}.dist-info"}


def _version(site: Path) -> str:
    (info,) = site.glob("sifu-*.dist-info")
    return info.name.removeprefix("sifu-").removesuffix(".dist-info")


@pytest.mark.long
def test_the_default_config_is_planned_in_any_folder(site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "any folder"
    folder.mkdir()
    done = sifu(site, folder, "run", "--", "-n")
    assert done.returncode == 0, done.stdout + done.stderr
    plan = parse_plan(done.stdout + done.stderr)
    assert plan.items() >= (ONCE | {"figure": 11, "train": 4, "unlearn": 30}).items()
    assert [path.name for path in folder.iterdir()] == [".snakemake"]


@pytest.mark.long
def test_it_runs(site: Path, tmp_path: Path) -> None:
    config = site / "sifu" / "shipped" / "config" / "smoke.yaml"
    table = "results/smoke/unlearn/smoke/sifu/s000-001/cells.parquet"
    done = sifu(site, tmp_path, "run", "--config", str(config), "--cores", "2", table)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = sifu(
        site,
        tmp_path,
        "cell",
        *["--scenario", "smoke", "--variant", "sifu", "--seed", "0", "--results", "results/smoke"],
    )
    assert f"v{_version(site)}" in shown.stdout, "an installed package names its version, not a commit"
