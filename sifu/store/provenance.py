"""The provenance of a result, which is stamped into every file."""

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

from sifu import RULES_VERSION, __version__
from sifu.config.shipped import CHECKOUT


@dataclass(frozen=True)
class Provenance:
    """All that is needed to make the file again; nothing that would differ then, such as time or host."""

    stage: str
    settings: str  # JSON: the settings that the stage depends on
    code_hash: str
    device: str
    rules_version: str = RULES_VERSION
    commit: str = "unknown"
    torch: str = version("torch")  # read without importing torch, which figures do not need
    numpy: str = np.__version__
    notes: str = ""  # JSON: facts about the stage, such as the number of examples that a partition moved

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
    """The commit of this checkout, with `-dirty` if it has changes. SIFU_COMMIT names it for a copy without git.

    Of an installed package: its version.
    """
    if given := os.environ.get("SIFU_COMMIT"):
        return given
    if not CHECKOUT:  # git would name the commit of whatever project the package is installed in
        return f"v{__version__}"
    folder = Path(__file__).parent
    try:
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
