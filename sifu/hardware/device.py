"""Which device trains."""

from __future__ import annotations

import torch

from sifu.errors import SifuError
from sifu.hardware.workers import Workers


def choose_device(name: str, precision: str = "tf32") -> torch.device:
    """The device; `auto` is a GPU if there is one. `precision` is for networks on a GPU: see `Run` in config/run.py."""
    if name == "cuda" and not torch.cuda.is_available():
        raise SifuError("--device cuda: torch sees no CUDA device here; allowed: cpu, or auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"  # our own kernels read it, too
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch.device(name)


def workers_for(device: torch.device, threads: int) -> Workers | None:
    """The CPU's thread pool; a GPU needs none."""
    return Workers(threads) if device.type == "cpu" else None


def device_name(device: torch.device) -> str:
    """For provenance: the kind of device and the precision of its networks."""
    if device.type == "cpu":
        return "cpu"
    return f"{torch.cuda.get_device_name(device)}, {'tf32' if torch.backends.cudnn.allow_tf32 else 'float32'}"


def wait_for(device: torch.device) -> None:
    """Wait until the device has finished all its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
