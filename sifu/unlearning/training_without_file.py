"""Reads and writes the training without the clients of each request."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sifu.errors import StoreError
from sifu.federation.segment import Segment
from sifu.federation.segment_file import segment_of, segment_parts, stored_settings
from sifu.store.provenance import Provenance
from sifu.store.tensors import read_tensors, write_tensors
from sifu.unlearning.training_without import TrainingWithout

_TRAINED = "trained"  # the last model of the training itself: tells it from another one
_SAME = ("start", "key_state")  # of the training and of every run without clients


class StoredTrainings(NamedTuple):
    """A file of trainings without some clients: one a request, and the settings that they were made with."""

    runs: list[TrainingWithout]
    settings: dict[str, Any]


def write_trainings_without(path: Path, training: Segment, runs: list[TrainingWithout], provenance: Provenance) -> None:
    """Write what `trainings_without` made of a training, as safetensors."""
    tensors, headers = {_TRAINED: training.final.cpu()}, []
    for number, run in enumerate(runs, start=1):
        parts, header = segment_parts(run.segment)
        parts |= {"sets": run.sets, "increments": run.increments}
        tensors |= {f"{number}/{name}": tensor for name, tensor in parts.items() if name not in _SAME}
        headers.append(header)
    write_tensors(path, tensors, provenance.stamp() | {"runs": headers})


def read_trainings_without(path: Path, training: Segment) -> StoredTrainings:
    """What `write_trainings_without` wrote; refused where it is of another training."""
    header, tensors = read_tensors(path)
    headers = header.get("runs")
    if not isinstance(headers, list) or _TRAINED not in tensors:
        raise StoreError(f"{path} is not a training without the clients of requests")
    if not torch.equal(tensors.pop(_TRAINED), training.final):
        raise StoreError(f"{path} is of another training than the history next to it: remove it, it is made again")
    runs = [_run(path, number, tensors, one, training) for number, one in enumerate(headers, start=1)]
    return StoredTrainings(runs, stored_settings(path, header))


def _run(path: Path, number: int, tensors: dict[str, Tensor], header: Any, training: Segment) -> TrainingWithout:
    prefix = f"{number}/"
    parts = {name.removeprefix(prefix): part for name, part in tensors.items() if name.startswith(prefix)}
    sets, increments = parts.pop("sets", None), parts.pop("increments", None)
    if not isinstance(header, dict) or sets is None or increments is None:
        raise StoreError(f"{path} is damaged: parts of request {number} are missing")
    _check_increments(path, sets, increments, training)
    parts |= {name: getattr(training, name) for name in _SAME}
    return TrainingWithout(sets, increments, segment_of(path, parts, header))


def _check_increments(path: Path, sets: Tensor, increments: Tensor, training: Segment) -> None:
    """Refuse what would give a wrong Psi: other shapes, or a length that is not one."""
    (seeds, rounds), (same, clients) = training.trace.cohort.shape[:2], training.available.shape
    fits = sets.dim() == 3 and sets.dtype == torch.bool and (sets.shape[0], sets.shape[2]) == (same, clients)
    if not fits or increments.shape != (seeds, rounds, sets.shape[1]) or increments.dtype != torch.float64:
        raise StoreError(f"{path} is damaged: its sets or its increments have other shapes than the training")
    if bool((increments < 0).any()) or bool(increments.isnan().any()):
        raise StoreError(f"{path} is damaged: an increment of Psi is a length, and one is none")
