"""Progress of a long run: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sifu.federation.segment import Evaluation
from sifu.federation.training import Progress

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def show_progress(name: str, max_rounds: int) -> Iterator[Progress]:
    """A callback for `Engine.run` that shows rounds, accuracy and the maximum remaining time."""
    if sys.stderr.isatty():
        with _bar(name, max_rounds) as callback:
            yield callback
    else:
        yield _lines(name, max_rounds)


def _summary(accuracy: dict[int, float]) -> str:
    """The lowest, mean and highest accuracy over seeds."""
    values = list(accuracy.values())
    if not values:
        return "accuracy not evaluated"
    return f"retain accuracy {min(values):.3f} / {sum(values) / len(values):.3f} / {max(values):.3f} (min/mean/max)"


@contextmanager
def _bar(name: str, max_rounds: int) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[accuracy]}"),
        TimeElapsedColumn(),
        TextColumn("at most"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    accuracy: dict[int, float] = {}
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=max_rounds, accuracy="")

        def callback(number: int, evaluations: list[Evaluation], running: int) -> None:
            accuracy.update({entry.seed_row: entry.retain_accuracy for entry in evaluations})
            bar.update(task, completed=number, accuracy=f"{running} seeds running, {_summary(accuracy)}")

        yield callback


def _lines(name: str, max_rounds: int) -> Progress:
    start = time.monotonic()
    last = start - _SECONDS_BETWEEN_LINES
    accuracy: dict[int, float] = {}

    def callback(number: int, evaluations: list[Evaluation], running: int) -> None:
        nonlocal last
        accuracy.update({entry.seed_row: entry.retain_accuracy for entry in evaluations})
        now = time.monotonic()
        if now - last < _SECONDS_BETWEEN_LINES and running:
            return
        last = now
        remaining = (now - start) / number * (max_rounds - number) if number and running else None
        note = f", at most {remaining:.0f} s left" if remaining is not None else ""
        print(
            f"{name}: round {number}, {running} seeds running, {_summary(accuracy)}, {now - start:.0f} s{note}",
            file=sys.stderr,
            flush=True,
        )

    return callback
