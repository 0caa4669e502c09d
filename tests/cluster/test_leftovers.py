"""The Slurm of a killed test is removed; a Slurm of the machine stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import SCRIPT
from tests.cluster.machine import limited
from tests.conftest import REPO

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="tests/cluster/slurm.sh is for root, with util-linux"
)

CONFS = ("slurm.conf", "gres.conf")


def slurm(etc: Path, *arguments: str) -> tuple[int, str]:
    return limited((SCRIPT, *arguments), 60, REPO, os.environ | {"SLURM_ETC": str(etc)})


def link(etc: Path, folder: Path) -> None:
    etc.mkdir()
    for conf in CONFS:
        (etc / conf).symlink_to(folder / conf)


@pytest.fixture
def daemon() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(("timeout", "60", "sleep", "60"))
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def leftover(tmp_path: Path, daemon: subprocess.Popen[bytes]) -> Path:
    """The folder of a Slurm with one daemon, as `up` writes it, whose test process has ended."""
    folder = tmp_path / "slurm-of-the-tests"
    folder.mkdir()
    (folder / "munged.pid").write_text(f"{daemon.pid}\n")
    ended = subprocess.Popen(("true",))
    ended.wait()
    (folder / "owner").write_text(f"{ended.pid} 1\n")
    link(tmp_path / "etc", folder)
    return folder


def test_the_slurm_of_a_killed_test_is_removed(tmp_path: Path, leftover: Path, daemon: subprocess.Popen[bytes]) -> None:
    assert slurm(tmp_path / "etc", "clear") == (0, "")
    assert daemon.wait(timeout=5) != 0
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "etc"]


def test_links_that_point_nowhere_are_removed(tmp_path: Path) -> None:
    link(tmp_path / "etc", tmp_path / "slurm-of-the-tests")
    assert slurm(tmp_path / "etc", "clear") == (0, "")
    assert not any((tmp_path / "etc").iterdir())


def test_a_reused_process_number_is_not_the_owner(tmp_path: Path, leftover: Path) -> None:
    (leftover / "owner").write_text(f"{os.getpid()} 1\n")  # this process started later than one tick after boot
    assert slurm(tmp_path / "etc", "clear") == (0, "")
    assert not leftover.exists()


def test_a_running_test_keeps_its_slurm(tmp_path: Path, leftover: Path, daemon: subprocess.Popen[bytes]) -> None:
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rsplit(")", 1)[1].split()[19]  # field 22 of proc(5)
    (leftover / "owner").write_text(f"{os.getpid()} {started}\n")
    status, output = slurm(tmp_path / "etc", "up", str(tmp_path / "other" / "slurm-of-the-tests"))
    assert (status, output) == (1, f"test-cluster: process {os.getpid()} is running these tests\n")
    assert daemon.poll() is None
    assert all((tmp_path / "etc" / conf).is_symlink() for conf in CONFS)


def test_a_slurm_of_the_machine_is_not_touched(tmp_path: Path) -> None:
    link(tmp_path / "etc", tmp_path / "shared")  # a file system that is not mounted, say
    status, output = slurm(tmp_path / "etc", "up", str(tmp_path / "slurm-of-the-tests"))
    assert (status, output) == (
        1,
        f"test-cluster: {tmp_path}/etc/slurm.conf exists: this machine has a Slurm of its own\n",
    )
    assert all((tmp_path / "etc" / conf).is_symlink() for conf in CONFS)
    assert not (tmp_path / "slurm-of-the-tests").exists()
