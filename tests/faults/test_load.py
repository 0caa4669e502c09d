"""5,000 cells: planned in a minute, with bounded memory, and reported in a minute (`make test-load`)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from sifu.provenance import provenance
from sifu.schemas import ALPHA, CELLS, METRICS, NULL_SPACE, VERIFICATION, Table
from sifu.store import write_table
from tests.workflow.conftest import Checkout, parse_plan

pytestmark = pytest.mark.load
VARIANTS = ("original", "scratch", "sifu", "fed_accum", "last")
SEEDS = 1000  # a block each: 5,000 cells, 9,000 jobs
CONFIG = {"scenarios": ["smoke"], "variants": list(VARIANTS), "num_seeds": SEEDS, "block_size": 1, "device": "cpu"}
MEGABYTES = 1000  # most that the process at the top may take


@pytest.fixture(scope="module")
def large(checkout: Checkout) -> Checkout:
    (checkout.root / "config" / "large.yaml").write_text(yaml.safe_dump(CONFIG))
    return checkout


def timed(root: Path, *command: str) -> tuple[str, float, float]:
    """What a command prints, and its seconds (of a core: neighbours on the machine do not count) and megabytes."""
    environment = os.environ | {"PYTHONPATH": str(root), "SIFU_DATA_ROOT": str(root / "none")}
    with (root / "out.txt").open("w+") as out:
        process = subprocess.Popen([sys.executable, "-m", *command], cwd=root, env=environment, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    assert process.returncode == 0, text
    return text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def test_planning(large: Checkout) -> None:
    output, seconds, megabytes = timed(
        large.root, "snakemake", "-n", "--cores", "2", "--configfile", "config/large.yaml"
    )
    plan = parse_plan(output)
    print(f"planned {sum(plan.values())} jobs in {seconds:.0f} s with {megabytes:.0f} MB")
    assert plan["unlearn"] == SEEDS * len(VARIANTS)
    assert seconds < 60
    assert megabytes < MEGABYTES


def write(path: Path, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Rows with the columns that matter here; numbers that are not given are 1, what may be empty is."""
    needed = {c.name: "x" if str(c.type) == "string" else 1 for c in table.columns if not c.nullable}
    frame = pd.DataFrame([needed | row for row in rows], columns=[column.name for column in table.columns])
    write_table(path, table, frame, provenance("test", {}, "0" * 16, "cpu"))


def fill(root: Path) -> None:
    """Every table that the report reads."""
    write(root / "null_space" / "null_space.parquet", NULL_SPACE, [{"seed": 0, "step": n} for n in range(3)])
    for seed in range(SEEDS):
        block, key = f"s{seed:03d}-{seed:03d}", {"scenario": "smoke", "seed": seed}
        cells = [
            key | {"variant": v, "stop": s, "request": r, "status": "done", "rounds": 10 + seed % 7 + i}
            for i, v in enumerate(VARIANTS)
            for s in ("target", "budget_50")
            for r in (1, 2, 3)
        ]
        trained = key | {"variant": "train", "stop": "target", "request": 0, "status": "done"}
        write(root / "train/smoke" / block / "cells.parquet", CELLS, [trained])
        for v in VARIANTS:
            write(root / "unlearn/smoke" / v / block / "cells.parquet", CELLS, [c for c in cells if c["variant"] == v])
        names = [(m, s) for m in ("accuracy", "gap_to_scratch") for s in ("retain", "forget", "forgotten")]
        cell = [{k: c[k] for k in ("scenario", "seed", "variant", "stop", "request")} for c in cells]
        metrics = [c | {"metric": m, "subset": s, "value": seed / SEEDS} for c in cell for m, s in names]
        write(root / "verify/smoke" / block / "metrics.parquet", METRICS, metrics)
        write(root / "verify/smoke" / block / "verification.parquet", VERIFICATION, [])
        alpha = [key | {"change": "", "client": c, "round": r, "alpha": r / 9.0} for c in range(3) for r in range(20)]
        write(root / "alpha/smoke" / block / "alpha.parquet", ALPHA, alpha)


def test_reporting(large: Checkout) -> None:
    fill(large.root / "results")
    config = ("--config", "config/large.yaml")
    total = 0.0
    for command in ("report", "page"):  # figures are jobs of their own, each as long as reading its tables
        _, seconds, megabytes = timed(large.root, "sifu", command, *config)
        print(f"{command}: {seconds:.0f} s, {megabytes:.0f} MB")
        total += seconds
        assert megabytes < 2 * MEGABYTES
    assert total < 60
    page = (large.root / "results" / "report" / "report.html").read_text()
    assert "planned tables are missing" not in page
    assert page.count("1000 seeds") >= 1
