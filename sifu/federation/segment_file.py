"""Reads and writes a segment, the history of one training."""

from __future__ import annotations

from pathlib import Path

import torch

from sifu.core.types import Status
from sifu.errors import StoreError
from sifu.federation.segment import Evaluation, Segment, Trace
from sifu.store.provenance import Provenance
from sifu.store.tensors import read_tensors, write_tensors

_TENSORS = ("start", "final", "rounds", "available", "key_state", "snapshots")
_TRACE = ("cohort", "distance", "update_norm", "layer_norm", "step_norm")


def write_segment(path: Path, segment: Segment, provenance: Provenance) -> None:
    """Write a history as safetensors; what is not a tensor goes into the header."""
    tensors = {name: getattr(segment, name) for name in _TENSORS}
    tensors |= {f"trace.{name}": getattr(segment.trace, name) for name in _TRACE}
    tensors["trace.cohort"] = tensors["trace.cohort"].to(torch.int32)  # client numbers: half the file size
    header = provenance.stamp() | {
        "status": segment.status,
        "snapshot_every": segment.snapshot_every,
        "evaluations": segment.evaluations,
    }
    write_tensors(path, tensors, header)


def read_segment(path: Path) -> Segment:
    """The history that `write_segment` wrote."""
    header, tensors = read_tensors(path)
    if "status" not in header:
        raise StoreError(f"{path} holds weights, not a history")
    tensors["trace.cohort"] = tensors["trace.cohort"].to(torch.int64)
    return Segment(
        **{name: tensors[name] for name in _TENSORS},  # type: ignore[arg-type]
        trace=Trace(**{name: tensors[f"trace.{name}"] for name in _TRACE}),
        status=tuple(Status(name) for name in header["status"]),
        snapshot_every=header["snapshot_every"],
        evaluations=tuple(Evaluation(*values) for values in header["evaluations"]),
    )
