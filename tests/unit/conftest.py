"""What several files of tests share, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.small_run import run_small


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    run_small(root)
    return root
