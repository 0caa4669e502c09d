"""Reads and writes a segment, the history of one training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sifu.core.types import Status
from sifu.errors import StoreError
from sifu.federation.segment import Evaluation, Segment, Trace
from sifu.federation.segment_check import check_history
from sifu.store.provenance import Provenance
from sifu.store.tensors import read_tensors, write_tensors

_TENSORS = ("start", "final", "rounds", "available", "key_state", "snapshots")
_TRACE = ("cohort", "distance", "update_norm", "layer_norm", "step_norm")


class StoredHistory(NamedTuple):
    """A history file: the training, and the settings that it was made with."""

    segment: Segment
    settings: dict[str, Any]


def write_segment(path: Path, segment: Segment, provenance: Provenance) -> None:
    """Write a history as safetensors; what is not a tensor goes into the header."""
    tensors, header = segment_parts(segment)
    write_tensors(path, tensors, provenance.stamp() | header)


def segment_parts(segment: Segment) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a history by name, and the rest of it as plain data."""
    tensors = {name: getattr(segment, name) for name in _TENSORS}
    tensors |= {f"trace.{name}": getattr(segment.trace, name) for name in _TRACE}
    tensors["trace.cohort"] = tensors["trace.cohort"].to(torch.int32)  # client numbers: half the file size
    rest = {
        "status": segment.status,
        "snapshot_every": segment.snapshot_every,
        "evaluations": segment.evaluations,
    }
    return tensors, rest


def read_history(path: Path) -> StoredHistory:
    """The history that `write_segment` wrote, with its settings."""
    header, tensors = read_tensors(path)
    if "status" not in header:
        raise StoreError(f"{path} holds weights, not a history")
    return StoredHistory(segment_of(path, tensors, header), stored_settings(path, header))


def segment_of(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> Segment:
    """The history of `segment_parts`, checked; `path` is where it comes from."""
    check_history(path, header, tensors)
    tensors["trace.cohort"] = tensors["trace.cohort"].to(torch.int64)
    return Segment(
        **{name: tensors[name] for name in _TENSORS},  # type: ignore[arg-type]
        trace=Trace(**{name: tensors[f"trace.{name}"] for name in _TRACE}),
        status=tuple(Status(name) for name in header["status"]),
        snapshot_every=header["snapshot_every"],
        evaluations=tuple(Evaluation(*values) for values in header["evaluations"]),
    )


def stored_settings(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    try:
        settings = json.loads(header["settings"])
    except (KeyError, TypeError, ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise StoreError(f"{path} is damaged: it does not say with which settings it was made")
    return settings
