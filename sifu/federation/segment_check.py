"""Whether tensors and header of a history file fit together: nothing of it is used before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sifu.core.types import Status
from sifu.errors import StoreError

_AXES = {  # see Segment and Trace; L layers
    "start": "SP",
    "final": "SP",
    "rounds": "S",
    "available": "SC",
    "key_state": "S",
    "snapshots": "SQP",
    "trace.cohort": "STm",
    "trace.distance": "STm",
    "trace.update_norm": "STm",
    "trace.layer_norm": "STmL",
    "trace.step_norm": "ST",
}
_TYPES = {"rounds": torch.int64, "key_state": torch.int64, "available": torch.bool, "trace.cohort": torch.int32}
_REAL = (torch.float32, torch.float64)  # of others torch cannot even say whether they are finite
_SCALARS = ("trace.distance", "trace.update_norm", "trace.layer_norm", "trace.step_norm")


def check_history(path: Path, header: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Refuse a history whose parts are missing, of other shapes or types, not finite, or say different things."""
    if set(tensors) != set(_AXES):
        raise StoreError(f"{path} is not a history: it has the tensors {', '.join(sorted(tensors))[:200]}")
    sizes = _check_shapes(path, tensors)
    _check_header(path, header, sizes)
    _check_numbers(path, header, tensors, sizes)


def _check_shapes(path: Path, tensors: dict[str, Tensor]) -> dict[str, int]:
    """The size of each axis, which must be the same in all tensors."""
    sizes: dict[str, int] = {}
    for name, axes in _AXES.items():
        tensor = tensors[name]
        fits = tensor.dim() == len(axes) and all(sizes.setdefault(a, n) == n for a, n in zip(axes, tensor.shape))  # noqa: B905
        typed = tensor.dtype == _TYPES[name] if name in _TYPES else tensor.dtype in _REAL
        if not fits or not typed:
            raise StoreError(f"{path} is damaged: {name} is {tensor.dtype} of shape {tuple(tensor.shape)}")
    if not sizes["S"]:
        raise StoreError(f"{path} is a history of no seed")
    return sizes


def _check_header(path: Path, header: dict[str, Any], sizes: dict[str, int]) -> None:
    status, every, evaluations = (header.get(key) for key in ("status", "snapshot_every", "evaluations"))
    known = [entry.value for entry in Status]
    if not isinstance(status, list) or len(status) != sizes["S"] or not all(name in known for name in status):
        raise StoreError(f"{path} is damaged: its status is not one of {', '.join(known)} for each seed")
    if type(every) is not int or every < 1 or sizes["Q"] != sizes["T"] // every:
        raise StoreError(f"{path} is damaged: it has {sizes['Q']} snapshots of {sizes['T']} rounds")
    if not isinstance(evaluations, list) or not all(_is_evaluation(entry, sizes) for entry in evaluations):
        raise StoreError(f"{path} is damaged: its evaluations are not rows of seed, round and accuracies")


def _is_evaluation(entry: Any, sizes: dict[str, int]) -> bool:
    if not isinstance(entry, list) or len(entry) != 4 or type(entry[0]) is not int or type(entry[1]) is not int:
        return False
    shares = [value for value in entry[2:] if not (value is None and value is entry[3])]
    within = all(type(value) in (int, float) and 0 <= value <= 1 for value in shares)
    return 0 <= entry[0] < sizes["S"] and 0 <= entry[1] <= sizes["T"] and within


def _check_numbers(path: Path, header: dict[str, Any], tensors: dict[str, Tensor], sizes: dict[str, int]) -> None:
    rounds, cohort = tensors["rounds"], tensors["trace.cohort"]
    if bool((rounds < 0).any()) or int(rounds.max()) > sizes["T"]:
        raise StoreError(f"{path} is damaged: it has {sizes['T']} rounds, and says {rounds.tolist()[:10]}")
    if cohort.numel() and not (int(cohort.min()) >= -1 and int(cohort.max()) < sizes["C"]):
        raise StoreError(f"{path} is damaged: a cohort names a client that is none of {sizes['C']}")
    going = [row for row, status in enumerate(header["status"]) if status != Status.DIVERGED]  # norms may overflow
    for name in ("start", "final", "snapshots", *_SCALARS):
        part = tensors[name] if name not in _SCALARS else tensors[name][going]
        if not bool(part.isfinite().all()):
            raise StoreError(f"{path} is damaged: {name} has a number that is not finite")
        if name in _SCALARS and bool((part < 0).any()):  # Psi adds them up: it would promise too much
            raise StoreError(f"{path} is damaged: {name} is a length, and has a number below 0")
