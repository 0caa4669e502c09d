"""Reads and writes weights and histories: safetensors, which execute nothing. No other module knows the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sifu.errors import StoreError
from sifu.history import Look, Segment, Trace
from sifu.provenance import Provenance
from sifu.store import atomic, check_rules
from sifu.types import Status


def write_weights(path: Path, tensors: dict[str, Tensor], provenance: Provenance) -> None:
    """Named tensors as safetensors."""
    with atomic(path) as temporary:  # one entry: safetensors writes several in an order of its own
        contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
        save_file(contiguous, temporary, {"sifu": json.dumps(provenance.stamp(), sort_keys=True)})


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors that `write_weights` wrote."""
    return _read_tensors(path)[1]


def _read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, "pt") as file:
            header = json.loads(file.metadata()["sifu"])
            names = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist: run the stage that makes it first") from None
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is not a readable safetensors file: {error}") from None
    check_rules(path, header["rules_version"])
    return header, tensors


_TENSORS = ("start", "final", "rounds", "available", "key_state", "snapshots")
_TRACE = ("cohort", "distance", "update_norm", "layer_norm", "step_norm")


def write_segment(path: Path, segment: Segment, provenance: Provenance) -> None:
    """A history as safetensors; what is not a tensor goes into the header."""
    tensors = {name: getattr(segment, name) for name in _TENSORS}
    tensors |= {f"trace.{name}": getattr(segment.trace, name) for name in _TRACE}
    tensors["trace.cohort"] = tensors["trace.cohort"].to(torch.int32)  # client numbers: half the size
    header = provenance.stamp() | {
        "status": segment.status,
        "snapshot_every": segment.snapshot_every,
        "looks": segment.looks,
    }
    with atomic(path) as temporary:  # one entry: safetensors writes several in an order of its own
        contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
        save_file(contiguous, temporary, {"sifu": json.dumps(header, sort_keys=True)})


def read_segment(path: Path) -> Segment:
    """The history that `write_segment` wrote."""
    header, tensors = _read_tensors(path)
    if "status" not in header:
        raise StoreError(f"{path} holds weights, not a history")
    tensors["trace.cohort"] = tensors["trace.cohort"].to(torch.int64)
    return Segment(
        **{name: tensors[name] for name in _TENSORS},
        trace=Trace(**{name: tensors[f"trace.{name}"] for name in _TRACE}),
        status=tuple(Status(name) for name in header["status"]),
        snapshot_every=header["snapshot_every"],
        looks=tuple(Look(*look) for look in header["looks"]),
    )
