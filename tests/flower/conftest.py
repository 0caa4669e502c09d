"""These tests need Flower: `make test-flower` installs it. Elsewhere they are not even collected."""

from __future__ import annotations

import os
from importlib.util import find_spec

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
if find_spec("flwr") is None:
    collect_ignore_glob = ["test_*.py"]
