"""A pool of threads, each with one core: how the CPU trains many small models at once.

One model is too small to be split over cores, but there are always several: seeds times sampled clients. One thread per
task is faster than all threads on each task, and a task's result depends neither on the number of threads nor on the
other tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers:
    """`threads` workers; torch itself runs single-threaded from now on, in the workers and in the caller."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        torch.set_num_threads(1)
        self._pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The results in the order of the tasks; the first error is raised here."""
        return list(self._pool.map(function, tasks))
