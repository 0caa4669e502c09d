"""Reads and writes tensors with a header, as safetensors, which cannot execute code."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sifu.errors import StoreError
from sifu.store.parquet import MAKE_AGAIN, atomic, check_rules
from sifu.store.provenance import Provenance

_MAX_HEADER = 2**24  # bytes; it is read as JSON twice, and takes up to thirty times as much memory
_MAX_TENSORS = 2**15  # reading takes a time for each, however small; two a request and stop rule are needed


def write_weights(path: Path, tensors: dict[str, Tensor], provenance: Provenance) -> None:
    """Write named tensors, stamped with their provenance."""
    write_tensors(path, tensors, provenance.stamp())


def write_tensors(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write tensors with a header of plain data, which must contain `rules_version`."""
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    header = header | {"checksum": _checksum(contiguous)}
    with atomic(path) as temporary:
        try:  # one entry: the order of several would not be fixed
            save_file(contiguous, temporary, {"sifu": json.dumps(header, sort_keys=True)})
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from None


def _checksum(tensors: dict[str, Tensor]) -> int:
    """The CRC-32 of names and values: the format itself would not notice a flipped bit."""
    crc = 0
    for name in sorted(tensors):
        crc = zlib.crc32(name.encode(), crc)
        crc = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, crc)
    return crc


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors that `write_weights` wrote."""
    return read_tensors(path)[1]


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The header and the tensors that `write_tensors` wrote."""
    if not path.exists():
        raise StoreError(f"{path} does not exist: run the stage that makes it first")
    if not path.is_file():  # a pipe would wait for ever
        raise StoreError(f"{path} is not a readable safetensors file: it is not a file at all")
    try:
        _refuse_long(path)
        with safe_open(path, "pt") as file:
            header = json.loads(file.metadata()["sifu"])
            names = file.keys()
            if len(names) > _MAX_TENSORS:
                raise ValueError(f"it has {len(names)} tensors, expected at most {_MAX_TENSORS}")
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise StoreError(f"{path} is not a readable safetensors file: {reason}; {MAKE_AGAIN}") from None
    header = header if isinstance(header, dict) else {}
    if header.get("checksum") != _checksum(tensors):
        raise StoreError(f"{path} is damaged, its checksum differs; {MAKE_AGAIN}")
    check_rules(path, str(header.get("rules_version", "none"))[:40])
    return header, tensors


def _refuse_long(path: Path) -> None:
    """A file begins with the length of its header."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if length > _MAX_HEADER:
        raise ValueError(f"its header has {length} bytes, expected at most {_MAX_HEADER}")
