"""Which device trains."""

from __future__ import annotations

import torch

from sifu.errors import SifuError
from sifu.workers import Workers


def choose_device(name: str) -> torch.device:
    """`auto` is a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise SifuError("--device cuda: torch sees no CUDA device here; allowed: cpu, or auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # the CPU's precision
    return torch.device(name)


def workers_for(device: torch.device, threads: int) -> Workers | None:
    """The CPU's thread pool; a GPU needs none."""
    return Workers(threads) if device.type == "cpu" else None


def device_name(device: torch.device) -> str:
    """For provenance: the kind of device, not the machine."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
