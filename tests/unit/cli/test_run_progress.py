"""The line of a run: how far, how long, what now. Times come from a clock that the test moves."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pytest

from sifu.cli.run_display import Display, last_words
from sifu.cli.run_progress import RunningJob, RunProgress, duration

PLAN = {"partition": 2, "train": 1, "unlearn": 2, "all": 1, "total": 6}  # weights: 2 x 1 + 6 + 2 x 6 = 20


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_that_of_the_weights_left() -> None:
    clock = Clock()
    progress = RunProgress(clock)
    progress.plan(PLAN)
    assert progress.total == 5  # the rule `all` does nothing
    progress.start(1, RunningJob("partition", {"scenario": "mnist", "block": "s000-003"}))
    clock.now += 1
    progress.finish(1)
    assert progress.share == pytest.approx(1 / 20)
    assert progress.seconds_left is None  # too early to say
    progress.start(2, RunningJob("train", {"scenario": "mnist", "block": "s000-003"}))
    clock.now += 13
    progress.finish(2)
    assert progress.seconds_left == pytest.approx(14 * 13 / 7)  # 7 of 20 took 14 s
    progress.start(3, RunningJob("unlearn", {"scenario": "mnist", "part": "sifu", "block": "s000-003"}))
    assert progress.line() == "2 of 5 jobs · about 30 s left · now: unlearn mnist with sifu"


def test_a_job_of_the_rule_all_is_not_counted() -> None:
    progress = RunProgress()
    progress.plan(PLAN)
    assert progress.finish(7) is None
    assert progress.done == 0


def test_without_jobs_nothing_is_left() -> None:
    assert RunProgress().share == 1.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "10 s"), (44, "40 s"), (57, "1 min"), (149, "2 min 30 s"), (3599, "1 h 0 min"), (12_000, "3 h 20 min")],
)
def test_durations_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_lines_are_few_and_the_last_job_is_always_shown() -> None:
    out = io.StringIO()
    display = Display(out)
    display.plan({"train": 2, "total": 2})
    for number in (1, 2):  # in less than ten seconds
        display.start(number, RunningJob("train", {"scenario": f"s{number}"}))
        display.finish(number)
    display.start(3, RunningJob("all", {}))
    display.finish(3)
    assert out.getvalue().splitlines() == ["0 of 2 jobs · now: train s1", "2 of 2 jobs"]


def test_a_job_that_fails_says_why(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("round 1\nerror: the disk is full\nround 2\n\n")
    out = io.StringIO()
    display = Display(out)
    display.start(1, RunningJob("train", {"scenario": "mnist"}))
    display.fail(1, [str(log)])
    display.error("At least one job did not complete successfully.")  # has been said
    assert out.getvalue().splitlines()[1:] == [f"failed: train mnist: error: the disk is full (log: {log})"]
    assert last_words(str(log.with_name("none.txt"))) == ""
    log.write_text("Traceback\nValueError: 3\n")
    assert last_words(str(log)) == "ValueError: 3"
