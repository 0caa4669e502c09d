"""The GPU's kernels pass Triton's compiler: its interpreter, which other tests use, takes more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels import NEEDS_TRITON

ROOT = Path(__file__).parents[3]


@pytest.mark.second  # a minute of compiling; test_kernels.py says whether they are right
@NEEDS_TRITON
def test_all_kernels_compile_for_a_hopper_chip() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "tests.compiled_kernels"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    compiled = {tuple(line.split()[:2]) for line in done.stdout.splitlines()}
    written = {
        (file.stem, kernel)
        for file in (ROOT / "sifu" / "hardware" / "kernels").glob("*.py")
        for kernel in _kernels(file.read_text())
    }
    assert compiled == written


def _kernels(source: str) -> list[str]:
    """The names of the functions that are launched: `..._kernel`."""
    starts = (line for line in source.splitlines() if line.startswith("def ") and "_kernel(" in line)
    return [line.removeprefix("def ").partition("(")[0] for line in starts]
