"""How many seeds are trained together: as many as the machine has room for, up to where more stop paying.

Read while the Snakefile is parsed: no torch here.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from sifu.catalog.datasets import DATASETS
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError

_PAYS = {"cuda": 50, "cpu": 10}  # seeds beyond which a round's time grows as fast as their number (docs/performance.md)
_ROOM = 0.5  # of the memory: the rest is the data's way there, other programs, and what this estimate forgets
_ACTIVATIONS = 64  # floats that a network keeps for a pixel of a batch, at most
_LARGEST = 4  # times the smallest client: the largest of a natural partition, about
_CONTAINER = Path("/sys/fs/cgroup/memory.max")
_UNKNOWN = 8 * 10**9  # bytes, where the machine does not say


def uses_gpu(device: str, cluster: bool = False) -> bool:
    """Whether jobs of this setting will find a GPU; asked without torch.

    On a cluster a job gets the GPU that it asks for, whatever the machine has that asks.
    """
    if cluster:
        return device != "cpu"
    return device == "cuda" or (device == "auto" and shutil.which("nvidia-smi") is not None)


def chosen_block_size(scenarios: Iterable[Scenario], device: str) -> int:
    """The block size for all these scenarios on this machine."""
    kind = "cuda" if uses_gpu(device) else "cpu"
    room = _ROOM * (gpu_memory() if kind == "cuda" else main_memory())
    fits = [int(room // seed_bytes(scenario)) for scenario in scenarios]
    return max(1, min([_PAYS[kind], *fits]))


def seed_bytes(scenario: Scenario) -> int:
    """What a seed needs: its clients' data, their Gram matrices, and the activations of a cohort's batches."""
    partition, federation = scenario.partition, scenario.federation
    pixels = math.prod(DATASETS[scenario.dataset.name].shape)
    examples = partition.examples * (_LARGEST if partition.kind == "natural" else 1)
    data = 2 * partition.num_clients * examples * pixels  # twice: some are copied to be read in order
    gram = partition.num_clients * examples**2
    activations = federation.clients_per_round * min(federation.batch_size, examples) * pixels * _ACTIVATIONS
    return 4 * (data + gram + activations)


def gpu_memory() -> int:
    """Bytes of the first GPU."""
    command = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits", "--id=0"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
        return int(answer.split()[0]) * 2**20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return _UNKNOWN


def main_memory() -> int:
    """Bytes of the machine's memory, or of the container's share of it."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        whole = _UNKNOWN
    try:
        return min(whole, int(_CONTAINER.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return whole


def block_name(seeds: range) -> str:
    return f"s{seeds[0]:03d}-{seeds[-1]:03d}"


def block_seeds(name: str) -> range:
    """The seeds of a block name; the inverse of `block_name`."""
    try:
        first, last = (int(part) for part in name.removeprefix("s").split("-"))
    except ValueError:
        raise ConfigError("block", name, "a name like s000-009") from None
    if not 0 <= first <= last < 2 * 10**9 or block_name(range(first, last + 1)) != name:
        raise ConfigError("block", name, "a name like s000-009")
    return range(first, last + 1)
