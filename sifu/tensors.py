"""Reads and writes weights and histories: safetensors, which execute nothing. No other module knows the format."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sifu import RULES_VERSION
from sifu.errors import StoreError
from sifu.history import Look, Segment, Trace
from sifu.provenance import Provenance
from sifu.store import MAKE_AGAIN, atomic, check_rules
from sifu.training import State
from sifu.types import Status


def write_weights(path: Path, tensors: dict[str, Tensor], provenance: Provenance) -> None:
    """Named tensors as safetensors."""
    _write_tensors(path, tensors, provenance.stamp())


def _write_tensors(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    header = header | {"checksum": _checksum(contiguous)}
    with atomic(path) as temporary:
        try:  # one entry: safetensors writes several in an order of its own
            save_file(contiguous, temporary, {"sifu": json.dumps(header, sort_keys=True)})
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from None


def _checksum(tensors: dict[str, Tensor]) -> int:
    """Of names and values: the format itself would not notice a flipped bit."""
    found = 0
    for name in sorted(tensors):
        found = zlib.crc32(name.encode(), found)
        found = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, found)
    return found


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
        raise StoreError(f"{path} is not a readable safetensors file: {error}; {MAKE_AGAIN}") from None
    if header.get("checksum") != _checksum(tensors):
        raise StoreError(f"{path} is damaged, its checksum differs; {MAKE_AGAIN}")
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
    _write_tensors(path, tensors, header)


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


def write_state(path: Path, state: State) -> None:
    """A training that is under way."""
    _write_tensors(path, state.tensors, {"rules_version": RULES_VERSION, "state": state.numbers})


def read_state(path: Path) -> State:
    """The training that `write_state` wrote."""
    header, tensors = _read_tensors(path)
    return State(header["state"], tensors)
