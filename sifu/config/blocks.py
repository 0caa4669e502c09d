"""How many seeds are trained together: as many as fit into memory, up to where more seeds save no time.

The Snakefile imports this module, so it does not import torch.
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

_MAX_USEFUL = {"cuda": 50, "cpu": 10}  # with more seeds a round's time grows in proportion (docs/performance.md)
_MAX_MODELS = {"cuda": 1000, "cpu": 100}  # the same for models that share their data
_MAX_HISTORIES = 200  # networks whose histories are held at once: their snapshots lie in main memory
_MEMORY_SHARE = 0.5  # the rest is for loading the data, other programs, and errors of this estimate
_ACTIVATIONS = 64  # floats that a network keeps per pixel of a batch, at most
_LINEAR = 4  # the same of a model without hidden layers
_LARGEST = 4  # size of the largest client of a natural partition over the smallest, roughly
_MOST = 100_000  # numbers of a block: as many seeds as a config may plan
_KINDS = {"s": "seeds", "c": "clients"}
_CONTAINER = Path("/sys/fs/cgroup/memory.max")
_UNKNOWN = 8 * 10**9  # bytes, if the machine does not tell
_GPU_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # of drivers; the second in WSL, the third of AMD


def uses_gpu(device: str, cluster: bool = False) -> bool:
    """Whether jobs with this setting will have a GPU; found out without torch.

    On a cluster a job gets the GPU that it asks for, even if this machine has none.
    """
    if cluster:
        return device != "cpu"
    return device == "cuda" or (device == "auto" and shutil.which("nvidia-smi") is not None)


def refuse_missing_gpu(device: str) -> None:
    """Refuse `device: cuda` on a machine that shows no sign of a GPU, before the first job does."""
    seen = shutil.which("nvidia-smi") or any(Path(path).exists() for path in _GPU_FILES)
    if device == "cuda" and not seen:
        raise ConfigError("device", device, "cpu | auto (no GPU is seen on this machine)")


def chosen_block_size(scenarios: Iterable[Scenario], device: str) -> int:
    """The block size for all these scenarios on this machine."""
    kind = "cuda" if uses_gpu(device) else "cpu"
    room = _MEMORY_SHARE * (gpu_memory() if kind == "cuda" else main_memory())
    fits = [int(room // seed_bytes(scenario)) for scenario in scenarios]
    return max(1, min([_MAX_USEFUL[kind], *fits]))


def seed_bytes(scenario: Scenario) -> int:
    """Bytes per seed: its clients' data, their Gram matrices, and the activations of a cohort's batches."""
    partition = scenario.partition
    pixels = math.prod(DATASETS[scenario.dataset.name].shape)
    examples = partition.examples * (_LARGEST if partition.kind == "natural" else 1)
    data = 2 * partition.num_clients * examples * pixels  # twice: some are copied to be contiguous
    gram = partition.num_clients * examples**2
    return 4 * (data + gram) + _activation_bytes(scenario)


def _activation_bytes(scenario: Scenario) -> int:
    """Bytes of the activations of a cohort's batches."""
    partition, federation = scenario.partition, scenario.federation
    pixels = math.prod(DATASETS[scenario.dataset.name].shape)
    examples = partition.examples * (_LARGEST if partition.kind == "natural" else 1)
    floats = _LINEAR if scenario.model == "logistic" else _ACTIVATIONS
    return 4 * federation.clients_per_round * min(federation.batch_size, examples) * pixels * floats


def batch_of_models(scenario: Scenario, device: str) -> int:
    """How many models of one federation are trained at once: they share its data, so that far more fit."""
    kind = "cuda" if uses_gpu(device) else "cpu"
    room = _MEMORY_SHARE * (gpu_memory() if kind == "cuda" else main_memory())
    return max(1, min(_MAX_MODELS[kind], int(room // _activation_bytes(scenario))))


def block_of_oracles(scenario: Scenario, device: str) -> int:
    """The same where methods read the past of every model; the histories of networks are large."""
    batch = batch_of_models(scenario, device)
    return batch if scenario.model == "logistic" else min(batch, _MAX_HISTORIES)


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
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = _UNKNOWN
    try:
        return min(total, int(_CONTAINER.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return total


def block_name(seeds: range) -> str:
    return f"s{seeds[0]:03d}-{seeds[-1]:03d}"


def block_names(seeds: range, size: int) -> list[str]:
    """The names of the blocks of `size` that `seeds` are cut into; the last may be smaller."""
    return [block_name(seeds[start : start + size]) for start in range(0, len(seeds), size)]


def block_seeds(name: str) -> range:
    """The seeds of a block name; the inverse of `block_name`."""
    return _numbers("block", name, "s")


def client_block_names(num_clients: int, size: int) -> list[str]:
    """The names of the blocks of `size` that clients are cut into: c000-024, c025-049, ..."""
    return [f"c{name[1:]}" for name in block_names(range(num_clients), size)]


def block_clients(name: str) -> range:
    """The clients of a block name; the inverse of `client_block_names`."""
    return _numbers("--clients", name, "c")


def _numbers(key: str, name: str, letter: str) -> range:
    allowed = f"a name like {letter}000-009"
    try:
        first, last = (int(part) for part in name.removeprefix(letter).split("-"))
    except ValueError:
        raise ConfigError(key, name, allowed) from None
    if not 0 <= first <= last < 2 * 10**9 or f"{letter}{first:03d}-{last:03d}" != name:
        raise ConfigError(key, name, allowed)
    if last - first >= _MOST:
        raise ConfigError(key, name, f"{allowed}, of at most {_MOST:,} {_KINDS[letter]}")
    return range(first, last + 1)
