"""Two seeds of the smoke scenario, run to the report: config and results lie together."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from sifu.cli.main import main
from tests.conftest import REPO

BLOCK = "s000-001"
VARIANTS = ("scratch", "sifu", "dp_smoke")


def run_small(root: Path) -> None:
    """Everything into an empty folder."""
    shutil.copytree(REPO / "config", root / "config")
    results = root / "results"
    text = f"scenarios: [smoke]\nvariants: [{', '.join(VARIANTS)}]\nnum_seeds: 2\nblock_size: 2\nresults: results\n"
    (root / "config" / "small.yaml").write_text(text)
    usual = ["--scenario", "smoke", "--config", str(root / "config"), "--results", str(results)]
    for block in (BLOCK, "s1000000-1000000"):
        assert main(["partition", "--block", block, *usual]) == 0
    search = ["search", "--variant", "dp_smoke", "--block", "s1000000-1000000"]
    stages = [["train"], ["train", "--variant", "dp_smoke"], *(["unlearn", "--variant", name] for name in VARIANTS)]
    stages.append(["verify", "--variants", *VARIANTS])
    for stage in (search, *([*stage, "--block", BLOCK] for stage in stages)):
        assert main([*stage, *usual, "--device", "cpu"]) == 0
    with contextlib.chdir(root):
        assert main(["report", "--config", str(root / "config" / "small.yaml")]) == 0
