"""Models on disk: safetensors files named by the digest of what is in them, so that the same model is kept once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from sifu.errors import StoreError

Arrays = dict[str, np.ndarray]


class Models:
    """The models in a folder, by digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, arrays: Mapping[str, np.ndarray]) -> str:
        """Keep a model, completely or not at all; it is on the disk when its digest is returned."""
        digest = digest_of(arrays)
        path = self._path(digest)
        if path.exists():
            return digest
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        contiguous = {name: np.asarray(part, order="C") for name, part in arrays.items()}
        with open(temporary, "wb") as file:
            file.write(save(contiguous, {"order": json.dumps(list(arrays))}))  # the format itself sorts
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        return digest

    def read(self, digest: str) -> Arrays:
        """The model of a digest."""
        path = self._path(digest)
        try:
            content = path.read_bytes()
            arrays, order = load(content), _order(content)
            found = {name: arrays[name] for name in order}
        except FileNotFoundError:
            raise StoreError(f"{path} is missing: restore it from a copy of the store") from None
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} is damaged: restore it from a copy of the store ({error})") from None
        if digest_of(found) != digest:
            raise StoreError(f"{path} is damaged, its digest differs: restore it from a copy of the store")
        return found

    def has(self, digest: str) -> bool:
        return self._path(digest).exists()

    def keep_only(self, digests: Collection[str]) -> None:
        """Delete every other model, and what a killed process left of one."""
        keep = {self._path(digest).name for digest in digests}
        for path in self.folder.glob("*"):
            if path.name not in keep:
                path.unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest}.safetensors"


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of a model: names, types, shapes and values, in their order."""
    digest = hashlib.sha256()
    for name, part in arrays.items():
        digest.update(json.dumps([name, str(part.dtype), list(part.shape)]).encode())
        digest.update(np.asarray(part, order="C").tobytes())
    return digest.hexdigest()


def _order(content: bytes) -> list[str]:
    """The names of the arrays in the model's own order, from the header of a file."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    order: list[str] = json.loads(header["__metadata__"]["order"])
    return order
