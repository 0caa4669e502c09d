"""What planning costs: Snakemake's dry run of a plan with so many cells, and of a small one to tell the start apart."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import yaml

from sifu.config.shipped import SUITE
from sifu.errors import SifuError

_VARIANTS = ("original", "scratch", "sifu", "fed_accum", "last")
_FEW = 10  # seeds of the small plan


class PlanningRow(NamedTuple):
    """The cost of one plan, in processor time: other programs do not count."""

    cells: int
    jobs: int
    seconds: float
    job_ms: float  # of each further job
    megabytes: float


class _Planned(NamedTuple):
    jobs: int
    seconds: float
    megabytes: float


def bench_planning(cells: int, block_size: int = 1) -> PlanningRow:
    """A plan of about so many cells, five variants each, with `block_size` seeds a block."""
    seeds = max(_FEW + 1, cells // len(_VARIANTS))
    few, many = (_plan(count, size) for count, size in ((_FEW, 1), (seeds, block_size)))
    per_job = (many.seconds - few.seconds) / max(1, many.jobs - few.jobs)
    return PlanningRow(seeds * len(_VARIANTS), many.jobs, many.seconds, 1000 * per_job, many.megabytes)


def _plan(seeds: int, block_size: int) -> _Planned:
    run = {"scenarios": ["smoke"], "variants": list(_VARIANTS), "num_seeds": seeds, "block_size": block_size}
    with tempfile.TemporaryDirectory() as folder:
        config, out = Path(folder) / "plan.yaml", Path(folder) / "out.txt"
        config.write_text(yaml.safe_dump(run | {"device": "cpu"}))
        line = [
            sys.executable,
            "-m",
            "snakemake",
            "-n",
            "--quiet",
            "rules",
            "--cores",
            "1",
            "--configfile",
            str(config),
        ]
        with out.open("w") as stream:
            place = ["--snakefile", str(SUITE / "Snakefile"), "--directory", folder]
            process = subprocess.Popen([*line, *place], stdout=stream, stderr=stream)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        total = re.search(r"^total\s+(\d+)", out.read_text(), re.MULTILINE)
        if process.returncode or total is None:
            raise SifuError(f"the plan could not be made: {' '.join(out.read_text().split())[-300:]}")
    return _Planned(int(total[1]), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
