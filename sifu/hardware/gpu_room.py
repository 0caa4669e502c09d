"""Room on a GPU that several jobs share: a job that finds its memory full waits until others have left, then goes on.

What a job needs is known only when it asks for it, so a run cannot plan it. A job that was turned away gives back what
it holds, waits, and asks to be started again: its checkpoints keep the trainings that it has finished.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from sifu.errors import SifuError

AGAIN = 75  # exit code of a job that shall be started again (EX_TEMPFAIL of sysexits.h)
_SIGNS = ("out of memory", "ALLOC_FAILED")  # torch, CUDA graphs, Triton and cuBLAS say it in words of their own
_SPARE = 1.2  # times what the job had reserved: it was about to ask for more
_OWN = 2 * 10**9  # bytes that a process without tensors may hold: the driver's context, libraries, recordings
_PAUSE = 5.0  # seconds, and up to twice as many, so that waiting jobs do not start at the same moment
_LONGEST = 3600.0  # seconds
_LINE_EVERY = 60.0  # seconds between two lines that say so


class Room(NamedTuple):
    """Memory of the GPU, in bytes."""

    free: int
    total: int
    own: int = 0  # what this process has reserved

    @property
    def is_shared(self) -> bool:
        """Whether somebody else holds a part."""
        return self.total - self.free - self.own > _OWN


def run_or_wait(work: Callable[[], None]) -> int:
    """Run `work`: 0. Where others leave too little of the GPU's memory for it, wait until there is more: AGAIN."""
    try:
        work()
        return 0
    except RuntimeError as error:
        if not is_full(error) or not _has_gpu():
            raise
    # not inside `except`: the error holds the tensors of where it was raised
    if not _room().is_shared:
        raise SifuError(_line("smaller blocks of seeds need less (block_size)", _room()))
    wait_for_room(_given_back(), _room)
    return AGAIN


def is_full(error: RuntimeError) -> bool:
    """Whether an error says that there is no memory left on the GPU."""
    return any(sign in str(error) for sign in _SIGNS)


def wait_for_room(wanted: int, room: Callable[[], Room], pause: float = _PAUSE, longest: float = _LONGEST) -> None:
    """Wait until `wanted` bytes are free, or nobody else is there; at most `longest` seconds."""
    began = time.monotonic()
    told = began - _LINE_EVERY
    while (now := room()).free < wanted and now.is_shared:
        passed = time.monotonic()
        if passed - began > longest:
            raise SifuError(_line(f"nobody left within {longest:.0f} seconds; share it among fewer jobs", now))
        if passed - told >= _LINE_EVERY:
            told = passed
            print(_line(f"waiting until others leave {wanted / 1e9:.1f} GB", now), file=sys.stderr, flush=True)
        time.sleep(random.uniform(pause, 2 * pause))


def _line(what: str, room: Room) -> str:
    return f"the GPU's memory is full ({room.free / 1e9:.1f} of {room.total / 1e9:.1f} GB are free): {what}"


def _given_back() -> int:
    """Give this process's memory back. The bytes that it needs to go on."""
    import torch

    wanted = int(_SPARE * torch.cuda.max_memory_reserved())
    gc.collect()
    torch.cuda.empty_cache()
    return wanted


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _room() -> Room:
    import torch

    return Room(*torch.cuda.mem_get_info(), torch.cuda.memory_reserved())
