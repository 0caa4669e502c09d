"""The machine's ceilings, measured just before the benchmark: products and copies of large matrices."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from sifu.hardware.device import wait_for


class Ceilings(NamedTuple):
    flops: float  # a second, of a large matrix product in the precision that convolutions use
    bytes: float  # a second, read and written by a large copy


def measure_ceilings(device: torch.device, threads: int) -> Ceilings:
    side = 8192 if device.type == "cuda" else 2048
    torch.set_num_threads(threads)
    a, b = (torch.randn(side, side, device=device) for _ in range(2))
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32
    product = best_seconds(lambda: a @ b, device)
    torch.backends.cuda.matmul.allow_tf32 = before
    source = torch.empty(2**30 if device.type == "cuda" else 2**26, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy = best_seconds(lambda: target.copy_(source), device)
    return Ceilings(2 * side**3 / product, 2 * len(source) / copy)


def best_seconds(function: Callable[[], object], device: torch.device, repeats: int = 5) -> float:
    """Seconds of the fastest of `repeats` calls, after a warm-up call."""
    times = []
    for _ in range(repeats + 1):
        wait_for(device)
        start = time.perf_counter()
        function()
        wait_for(device)
        times.append(time.perf_counter() - start)
    return min(times[1:])
