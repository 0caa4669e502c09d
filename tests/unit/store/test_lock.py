"""One process at a time in a folder: others wait; if it cannot be locked, one sentence says so."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from sifu.store.lock import locked
from sifu.store.parquet import atomic, write_text
from sifu.store.paths import LOCK
from tests.conftest import REPO

LOCKED = "cannot be locked"


def test_a_second_one_waits_for_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Locks belong to open files, so a thread with its own file stands for another process."""
    said: list[str] = []
    inside = threading.Event()

    def second() -> None:
        with locked(tmp_path):
            said.append("second")
            inside.set()

    with locked(tmp_path):
        waiting = threading.Thread(target=second)
        waiting.start()
        assert not inside.wait(0.3)
        said.append("first")
    waiting.join(30)
    assert said == ["first", "second"]
    assert capsys.readouterr().err == f"another process works in {tmp_path}: waiting for it\n"


def test_an_error_ends_the_lock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="full"), locked(tmp_path):
        raise OSError(errno.ENOSPC, "full")
    with locked(tmp_path):
        pass
    assert capsys.readouterr().err == "", "an error of the job is not one of the lock"


def test_what_is_locked_is_a_file_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS locks bytes, which needs a file that is open for writing; a folder cannot be."""
    seen = []

    def flock(file: object, _: int) -> None:
        number = file.fileno()  # type: ignore[attr-defined]
        seen.append((stat.S_ISREG(os.fstat(number).st_mode), fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE))

    monkeypatch.setattr(fcntl, "flock", flock)
    with locked(tmp_path):
        pass
    assert seen == [(True, os.O_RDWR)]


def test_without_locks_it_continues_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    done = False
    with locked(tmp_path / "new"):
        done = True
    assert done
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'new'} {LOCKED} (No locks available): ")


def test_a_file_that_cannot_be_opened_is_no_lock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".lock").mkdir()
    with locked(tmp_path):
        pass
    assert f"{LOCKED} (Is a directory)" in capsys.readouterr().err


def test_the_file_stays_empty_and_out_of_git(tmp_path: Path) -> None:
    """Removing it would let two in: one that waits for the old file, and one that creates a new file."""
    for _ in range(2):
        with locked(tmp_path):
            pass
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [(".lock", 0)]
    command = ["git", "check-ignore", "-q", "results/paper/train/mnist/s000-009/.lock"]
    ignored = subprocess.run(command, cwd=REPO, check=False).returncode
    assert ignored in (0, 128), "git would keep it"  # 128: a copy without its history


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a folder of somebody else: it may lead to any file of the user."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / LOCK).symlink_to(tmp_path / "elsewhere")
    with locked(tmp_path / "results"):
        assert not (tmp_path / "elsewhere").exists()
    assert LOCKED in capsys.readouterr().err


def test_a_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    """Neither the file nor its temporary one, whose name can be guessed."""
    (tmp_path / "mine").write_text("mine")
    with atomic(tmp_path / "x.txt") as temporary:
        name = temporary.name
    (tmp_path / "x.txt").unlink()
    for link in ("x.txt", name):
        (tmp_path / link).symlink_to(tmp_path / "mine")
    write_text(tmp_path / "x.txt", "new")
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / "x.txt").read_text() == "new"
