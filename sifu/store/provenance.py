"""Where a result comes from: stamped into every file by the one writer."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sifu import RULES_VERSION


@dataclass(frozen=True)
class Provenance:
    """Enough to make the file again, and nothing that changes when it is made again (no time, no host)."""

    stage: str
    settings: str  # JSON: those of the scenario that the stage depends on
    code_hash: str
    device: str
    rules_version: str = RULES_VERSION
    commit: str = "unknown"
    torch: str = version("torch")  # without importing it: figures need tables, not torch
    numpy: str = np.__version__
    notes: str = ""  # JSON: facts of the stage, such as examples that a partition had to move

    def stamp(self) -> dict[str, str]:
        return asdict(self)


def provenance(stage: str, settings: Any, code_hash: str, device: str, **notes: Any) -> Provenance:
    return Provenance(
        stage=stage,
        settings=json.dumps(settings, sort_keys=True),
        code_hash=code_hash,
        device=device,
        commit=commit(),
        notes=json.dumps(notes, sort_keys=True),
    )


@cache
def commit() -> str:
    """The commit of this checkout, `-dirty` when it was changed since. A copy without its history is told by
    SIFU_COMMIT what it is a copy of.
    """
    if told := os.environ.get("SIFU_COMMIT"):
        return told
    folder = Path(__file__).parent
    try:
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
