"""A run as a person watches it: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from sifu.cli.run_progress import RunningJob, RunProgress

VARIABLE = "SIFU_DISPLAY"  # the number of the open file to write to; Snakemake's own stderr goes to its log
FAILED = "failed: "  # how the sentence about a failed job begins
LOCKED = "LockException"  # how Snakemake's words about the lock of another run begin; `run` has a sentence for them
_SECONDS_BETWEEN_LINES = 10.0


def open_display() -> Display:
    """The display of this process: on the file that its parent has opened for it, else on stderr."""
    number = os.environ.get(VARIABLE)
    out = sys.stderr if number is None else os.fdopen(int(number), "w", buffering=1)
    return Bar(out) if out.isatty() else Display(out)


class Display:
    """Plain lines: the first job, then what runs every ten seconds, the last job, and every failure."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.progress = out, RunProgress()
        self._last, self._failed = float("-inf"), False

    def plan(self, jobs: Mapping[str, int]) -> None:
        self.progress.plan(jobs)

    def start(self, number: int, job: RunningJob) -> None:
        if job.rule != "all":
            self.progress.start(number, job)
            self.show()

    def finish(self, number: int) -> None:
        if self.progress.finish(number) is not None:
            self.show()

    def fail(self, number: int, logs: Sequence[str]) -> None:
        """A job that failed: what it said last, and where the rest is."""
        self._failed = True
        job = self.progress.running.get(number, "a job")
        said = next((words for words in map(last_words, logs) if words), "it said nothing")
        sentence = f"{FAILED}{job}: {said} (log: {', '.join(logs)})"
        self.say(sentence)
        print(sentence, flush=True)  # to the file with all output

    def error(self, text: str) -> None:
        """An error of the run itself; that a job failed has been said before."""
        print(text, flush=True)  # to the file with all output
        if not self._failed and not text.startswith(LOCKED):
            self.say(text)

    def say(self, text: str) -> None:
        print(text, file=self.out)

    def show(self) -> None:
        now = time.monotonic()
        ended = self.progress.done == self.progress.total
        if ended or now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            self.say(self.progress.line())

    def close(self) -> None:
        pass


class Bar(Display):
    """One line that is written again and again."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (BarColumn(bar_width=20), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(file=out), transient=True)
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()

    def say(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def show(self) -> None:
        room = self._bar.console.width - 24
        line = self.progress.line()
        shown = line if len(line) <= room else line[: room - 1] + "…"
        self._bar.update(self._task, completed=self.progress.share, description=shown)

    def close(self) -> None:
        self._bar.stop()


def last_words(log: str) -> str:
    """The last line of a job's log that has any words; an error's sentence, if a stage wrote one."""
    try:
        lines = [line.strip() for line in Path(log).read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    errors = [line for line in lines if line.startswith("error: ")]
    return (errors or lines or [""])[-1]
