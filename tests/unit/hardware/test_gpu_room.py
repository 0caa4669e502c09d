"""A GPU that several jobs share: whose memory is full waits, and a job that is alone is told so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import sifu.__main__
from sifu.errors import SifuError
from sifu.hardware import gpu_room
from sifu.hardware.gpu_room import AGAIN, Room, is_full, run_or_wait, wait_for_room

GB = 10**9


def rooms(*free: int) -> Callable[[], Room]:
    """The GPU of 100 GB at one look after another; `free` in GB."""
    left: Iterator[int] = iter(free)
    return lambda: Room(next(left) * GB, 100 * GB)


def full() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A GPU of 100 GB, of which this process has reserved 30, at one look after another."""

    def of(*free: int) -> None:
        monkeypatch.setattr(gpu_room, "_has_gpu", lambda: True)
        monkeypatch.setattr(gpu_room, "_room", rooms(*free))
        monkeypatch.setattr(gpu_room, "_given_back", lambda: 36 * GB)
        monkeypatch.setattr("time.sleep", lambda _: None)

    return of


def test_work_that_finds_room_is_run_once() -> None:
    done: list[int] = []
    assert run_or_wait(lambda: done.append(1)) == 0
    assert done == [1]


def test_full_memory_waits_for_others(gpu: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    gpu(0, 10, 20, 40)  # at the error; then until 36 GB are free
    assert run_or_wait(full) == AGAIN
    said = capsys.readouterr().err
    assert said == "the GPU's memory is full (10.0 of 100.0 GB are free): waiting until others leave 36.0 GB\n"


def test_a_job_that_is_alone_is_refused(gpu: Callable[..., None]) -> None:
    gpu(99, 99)  # nobody else holds more than a context's gigabyte
    with pytest.raises(SifuError, match="smaller blocks of seeds need less"):
        run_or_wait(full)


def test_without_a_gpu_an_error_is_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_room, "_has_gpu", lambda: False)
    with pytest.raises(torch.OutOfMemoryError):
        run_or_wait(full)


def test_whoever_waits_goes_on_when_all_others_have_left() -> None:
    look = rooms(10, 99)
    wait_for_room(200 * GB, look, pause=0.0)  # more than there is: the next try says so
    with pytest.raises(StopIteration):  # it has looked twice
        look()


def test_waiting_has_an_end() -> None:
    with pytest.raises(SifuError, match="nobody left within 0 seconds"):
        wait_for_room(36 * GB, rooms(1, 1, 1), pause=0.001, longest=0.0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB.", True),
        ("CUDA error: out of memory", True),
        ("Triton Error [CUDA]: out of memory", True),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True),
        ("The size of tensor a (3) must match the size of tensor b (4)", False),
    ],
)
def test_only_errors_of_memory_wait(words: str, expected: bool) -> None:
    assert is_full(RuntimeError(words)) is expected
    if not expected:
        with pytest.raises(RuntimeError, match="size of tensor"):
            run_or_wait(lambda: (_ for _ in ()).throw(RuntimeError(words)))


def test_a_job_that_waited_is_started_again_as_a_new_process(tmp_path: Path) -> None:
    """The first try ends with AGAIN, the second with 3: that is what whoever started the job sees."""
    script = tmp_path / "job.py"
    script.write_text(
        "import sys, pathlib, sifu.__main__ as job\n"
        f"seen = pathlib.Path({str(tmp_path / 'seen')!r})\n"
        f"job._run = lambda: (3 if seen.exists() else (seen.write_text(' '.join(sys.argv[1:])), {AGAIN})[1])\n"
        "sys.exit(job.main())\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(sifu.__main__.__file__).parents[1])}
    ended = subprocess.run([sys.executable, str(script), "train", "--x"], env=environment, check=False)
    assert ended.returncode == 3
    assert (tmp_path / "seen").read_text() == "train --x"
