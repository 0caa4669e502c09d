"""A copy of the checkout to run Snakemake in, as a user would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPO

ONCE = {"all": 1, "null_space": 1, "report": 1, "figure": 14, "page": 1}
# what config/smoke.yaml plans: a scenario with 4 variants, a block of 2 seeds; one variant has a search and its own
# training; a setting of the scenario is searched with the same seed that is not reported; two blocks of oracles, and
# two of clients of the atlas
SMOKE = (
    ONCE
    | dict.fromkeys(("train", "train_variant", "counterfactual", "verify", "alpha", "sweep", "request_sets"), 1)
    | dict.fromkeys(("setting_sweep", "alpha_sweep", "audit"), 1)
    | {"partition": 2, "unlearn": 4, "search": 1, "scenario_search": 1, "oracles": 2, "forgetting": 1, "atlas": 2}
)
PARTS = ("Snakefile", "workflow", "config", "profiles", "sifu")


@dataclass(frozen=True)
class Checkout:
    root: Path

    def snakemake(self, *arguments: str, data_root: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run Snakemake here, with this copy of the package."""
        return self._python("snakemake", "--cores", "2", *arguments, data_root=data_root)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`python -m sifu run`, which is what `make` does."""
        return self._python("sifu", "run", "--cores", "2", *arguments)

    def _python(self, *arguments: str, data_root: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "SIFU_DATA_ROOT": str(data_root or self.root / "none"),
        }
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=1800)

    def plan(self, *arguments: str, data_root: Path | None = None) -> dict[str, int]:
        """How many jobs of each rule a dry run lists; empty when there is nothing to do."""
        result = self.snakemake("-n", *arguments, data_root=data_root)
        assert result.returncode == 0, result.stdout + result.stderr
        return parse_plan(result.stdout + result.stderr)


def parse_plan(output: str) -> dict[str, int]:
    lines = output.splitlines()
    starts = [i for i, line in enumerate(lines) if line.split() == ["job", "count"]]
    if not starts:
        assert "Nothing to be done" in output, output
        return {}
    plan = {}
    for line in lines[starts[0] + 2 :]:
        name, count = line.split()
        if name == "total":
            return plan
        plan[name] = int(count)
    raise AssertionError("the job table has no end")


def copied(root: Path) -> Checkout:
    """What Snakemake needs of this checkout, in `root`."""
    for part in PARTS:
        source = REPO / part
        if source.is_dir():
            shutil.copytree(source, root / part)  # with what Python has compiled: every job would do that again
        else:
            shutil.copy(source, root / part)
    return Checkout(root)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return copied(tmp_path_factory.mktemp("checkout"))
