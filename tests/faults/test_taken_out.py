"""The tests of faults can fail: each fails in a checkout without the protection that it tests.

Slow: `make test-protections` runs them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.workflow.conftest import PARTS

STAGES, WORKFLOW = "tests/faults/test_stage_faults.py", "tests/faults/test_workflow_faults.py"
NODE = "tests/cluster/test_lost_node.py::test_a_job_of_a_dead_node_runs_on_another"
RESUME = ("sifu/federation/engine.py", "self.checkpoints.resume(training)", "pass")


@dataclass(frozen=True)
class TakenOut:
    """A protection: its code in a file, what replaces that code, and the test that must then fail."""

    file: str
    text: str
    without: str
    test: str


PROTECTIONS = {
    "a killed stage resumes": TakenOut(*RESUME, f"{STAGES}::test_a_killed_stage_gives_the_same_bytes[command0]"),
    "a cancelled job resumes": TakenOut(*RESUME, f"{WORKFLOW}::test_a_job_that_is_cancelled"),
    "a killed run resumes": TakenOut(*RESUME, f"{WORKFLOW}::test_everything_killed_at_once"),
    "random draws continue": TakenOut(
        "sifu/federation/training.py",
        "self.number.fill_(self.count)",
        "pass",
        f"{STAGES}::test_a_killed_stage_gives_the_same_bytes[command0]",
    ),
    "a job waits for one that still runs": TakenOut(
        "sifu/store/lock.py",
        "_lock(stack.enter_context(open_lock(folder / LOCK)), folder)",
        "pass",
        f"{WORKFLOW}::test_snakemake_killed_while_its_jobs_still_run",
    ),
    "a run locks its folder": TakenOut(
        "profiles/default/config.yaml",
        "keep-going: true",
        "keep-going: true\nnolock: true",
        f"{WORKFLOW}::test_two_runs_at_once",
    ),
    "results dated in the future get today's date": TakenOut(
        "sifu/store/timestamps.py", "now + _SECONDS", "now + 1e9", f"{WORKFLOW}::test_a_clock_that_is_a_day_off"
    ),
    "a file gets its name when it is complete": TakenOut(
        "sifu/store/parquet.py",
        'temporary = path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.tmp")',
        "temporary = path",
        f"{STAGES}::test_a_process_killed_while_it_writes_a_table",
    ),
    "a full disk is one sentence": TakenOut(
        "sifu/cli/main.py",
        "except OSError as error:",
        "except NotImplementedError as error:",
        f"{STAGES}::test_a_full_disk_is_one_sentence",
    ),
    "tables have checksums": TakenOut(
        "sifu/store/parquet.py",
        "write_page_checksum=True",
        "write_page_checksum=False",
        "tests/unit/store/test_parquet.py::test_a_flipped_bit_is_never_another_value",
    ),
    "weights have checksums": TakenOut(
        "sifu/store/tensors.py",
        'if header.get("checksum") != _checksum(tensors):',
        "if False:",
        f"{STAGES}::test_a_damaged_input_says_what_to_delete",
    ),
    "seeds that diverge are noticed": TakenOut(
        "sifu/federation/training.py",
        "finite = torch.linalg.vector_norm(result.weights, dim=1) <= _LARGEST_NORM",
        "finite = torch.ones_like(active)",
        f"{STAGES}::test_a_block_whose_seeds_diverge_ends_with_rows_that_say_so",
    ),
    "a job of a dead node is tried again": TakenOut("profiles/slurm/config.yaml", "retries: 2", "retries: 0", NODE),
}


def test_protections_are_where_they_were() -> None:
    """So that an edit which moves one is noticed at once, not by `make test-protections`."""
    for name, protection in PROTECTIONS.items():
        assert (REPO / protection.file).read_text().count(protection.text) == 1, name


@pytest.mark.protections
@pytest.mark.parametrize("name", PROTECTIONS)
def test_without_its_protection_a_test_fails(name: str, tmp_path: Path) -> None:
    protection = PROTECTIONS[name]
    for part in (*PARTS, "tests", "pyproject.toml"):
        copy = shutil.copytree if (REPO / part).is_dir() else shutil.copy
        copy(REPO / part, tmp_path / part)
    path = tmp_path / protection.file
    text = path.read_text()
    path.write_text(text.replace(protection.text, protection.without))
    result = run_test(tmp_path, protection.test)
    output = result.stdout + result.stderr
    assert result.returncode == 1, f"{protection.test} did not fail:\n{output[-3000:]}"
    assert f"FAILED {protection.test}" in output, output[-3000:]


def run_test(root: Path, test: str) -> subprocess.CompletedProcess[str]:
    """One test of a checkout, with its own package."""
    environment = os.environ | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", test]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)
