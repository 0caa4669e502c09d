"""Reads JSON files of others: whatever is wrong with one is a sentence that names it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sifu.errors import StoreError

_MAX_BYTES = 2**24  # the longest are manifests of some 100 kB; in memory it may be thirty times as much


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a file, its numbers all finite."""
    try:
        if not path.exists() or path.is_dir():
            path.read_bytes()  # says why not
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            raise ValueError(f"it is no file of at most {_MAX_BYTES} bytes")
        plain = json.loads(path.read_text("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except (OSError, ValueError, RecursionError) as error:  # ValueError: also no UTF-8, or thousands of digits
        raise StoreError(f"{path} cannot be read: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(plain, dict):
        raise StoreError(f"{path} cannot be read: it holds no mapping")
    return plain


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    """1e999 is a number of JSON, and infinite in Python."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number
