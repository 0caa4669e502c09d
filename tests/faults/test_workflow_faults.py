"""Runs that are killed, started twice or under another clock give the same tables as an undisturbed run.

Slow: `make test-faults` runs them.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.conftest import CONFIG, TARGET, TRAIN, UNLEARN, Long, wait_for

pytestmark = pytest.mark.faults
DAY = 24 * 3600


def assert_same(made: Long, undisturbed: Long) -> None:
    expected, actual = undisturbed.tables(), made.tables()
    assert list(actual) == list(expected)
    assert [name for name in expected if not actual[name].equals(expected[name])] == []
    assert made.leftovers() == []


def end_all(process: int) -> None:
    """As when the machine goes down: Snakemake and its jobs at once."""
    os.killpg(process, signal.SIGKILL)


def unlock(long: Long) -> None:
    """What a user has to do after Snakemake was killed; without it, one sentence says so."""
    refused = long.run()
    assert refused.returncode != 0
    assert "It can be removed with the --unlock argument" in refused.stdout + refused.stderr
    assert long.run("--unlock").returncode == 0


def finish(long: Long) -> None:
    result = long.run()
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_job_that_is_cancelled(long: Long, undisturbed: Long) -> None:
    running = long.start()
    long.until_under_way(TRAIN)
    long.job("train").send_signal(signal.SIGTERM)
    assert running.wait(120) != 0
    assert not (long.results / TRAIN / "history.safetensors").exists()
    finish(long)
    assert "resumes after" in long.log(TRAIN)
    assert_same(long, undisturbed)


@pytest.mark.parametrize("stage", [TRAIN, UNLEARN])
def test_everything_killed_at_once(long: Long, undisturbed: Long, stage: str) -> None:
    running = long.start()
    long.until_under_way(stage)
    end_all(running.pid)
    running.wait()
    unlock(long)
    finish(long)
    assert "resumes after" in long.log(stage)
    assert_same(long, undisturbed)


def test_snakemake_killed_while_its_jobs_still_run(long: Long, undisturbed: Long) -> None:
    """The new job waits for the old one: otherwise both would write into the same folder."""
    running = long.start()
    long.until_under_way(TRAIN)
    job = long.job("train")
    job.send_signal(signal.SIGTSTP)  # alive, and slow: as by Ctrl-Z
    running.kill()
    running.wait()
    unlock(long)
    again = long.start()
    wait_for(lambda: "another process works in" in long.log(TRAIN))
    assert not (long.results / TRAIN / "history.safetensors").exists()
    job.send_signal(signal.SIGCONT)
    assert again.wait(300) == 0
    assert not psutil.pid_exists(job.pid) or job.status() == psutil.STATUS_ZOMBIE
    assert_same(long, undisturbed)


def test_two_runs_at_once(long: Long, undisturbed: Long) -> None:
    first = long.start()
    long.until_under_way(TRAIN)
    second = long.run()
    output = second.stdout + second.stderr
    assert second.returncode != 0
    assert "Directory cannot be locked" in output
    assert "Traceback" not in output
    assert first.wait(300) == 0
    assert_same(long, undisturbed)


def shift(folder: Path, seconds: float) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() + seconds,) * 2)


def test_a_clock_that_is_a_day_off(long: Long, undisturbed: Long) -> None:
    """Trained on a machine whose clock was ahead: the rest runs once, and nothing runs again."""
    assert long.snakemake(f"results/{TRAIN}/cells.parquet", *CONFIG).returncode == 0
    shift(long.results, DAY)
    result = long.run()
    output = result.stdout + result.stderr
    assert result.returncode == 0, output
    assert "files under results are dated ahead of this machine's clock: they get its time" in output
    assert "rule train:" not in output
    assert_same(long, undisturbed)
    assert long.plan(TARGET, *CONFIG) == {}
    for stage, days in (("train", 1), ("train", -1), ("verify", -1), ("", -1), ("partition", 1), ("", 1)):
        shift(long.results / stage, days * DAY)
        assert long.plan(TARGET, *CONFIG) == {}, f"{stage or 'everything'} {days} days ahead"
    assert_same(long, undisturbed)
