"""What several files of tests share, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import made_once
from tests.small_run import run_small


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read it; who changes a file takes a copy."""
    return made_once(tmp_path_factory, "small_run", run_small)
