"""5,000 cells: planned in a time that grows with their number, run and reported with bounded memory (`make test-load`).

Seconds are printed, not judged: they depend on the machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from sifu.config.blocks import block_name
from sifu.store.experiment_schemas import ALPHA, NULL_SPACE
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS, METRICS, VERIFICATION
from tests.sparse_tables import write
from tests.workflow.conftest import Checkout, parse_plan

pytestmark = pytest.mark.load
VARIANTS = ("original", "scratch", "sifu", "fed_accum", "last")
SEEDS = 1000  # one block each: 5,000 cells, 9,000 jobs
CONFIG = {"scenarios": ["smoke"], "variants": list(VARIANTS), "num_seeds": SEEDS, "block_size": 1, "device": "cpu"}
MEGABYTES = 1000  # maximum memory of the Snakemake process


@pytest.fixture(scope="module")
def large(checkout: Checkout) -> Checkout:
    (checkout.root / "config" / "large.yaml").write_text(yaml.safe_dump(CONFIG))
    return checkout


def timed(root: Path, *command: str) -> tuple[str, float, float]:
    """The output of a command, its CPU seconds (independent of other programs) and its megabytes."""
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
    """Five times as many cells take five times as long; were it quadratic, they would take up to 25 times."""
    command = ("snakemake", "-n", "--cores", "2", "--configfile", "config/large.yaml")
    _, few, _ = timed(large.root, *command, "--config", f"num_seeds={SEEDS // 5}")
    output, seconds, megabytes = timed(large.root, *command)
    plan = parse_plan(output)
    print(
        f"planned {sum(plan.values())} jobs in {seconds:.0f} s with {megabytes:.0f} MB; a fifth of them in {few:.0f} s"
    )
    assert plan["unlearn"] == SEEDS * len(VARIANTS)
    assert seconds < 8 * few
    assert megabytes < MEGABYTES


def start(root: Path, *options: str) -> subprocess.Popen[str]:
    """Start Snakemake; its output goes to out.txt. It obeys SIGINT, also where these tests run in the background."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile", "config/large.yaml", *options]
    environment = os.environ | {"PYTHONPATH": str(root), "SIFU_DATA_ROOT": str(root / "none")}
    with (root / "out.txt").open("w") as out:
        return subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdout=out,
            stderr=out,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def watch(process: subprocess.Popen[str], root: Path, jobs: int | None = None) -> list[tuple[int, float]]:
    """The finished jobs and the megabytes of the process, every half second, until its end or until `jobs` jobs."""
    seen: list[tuple[int, float]] = []
    while process.poll() is None and (jobs is None or not seen or seen[-1][0] < jobs):
        resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        done = re.findall(r"^(\d+) of \d+ steps", (root / "out.txt").read_text(), re.MULTILINE)
        if resident:  # missing if the process has just ended
            seen.append((int(done[-1]) if done else 0, int(resident[1]) / 1024))
        time.sleep(0.5)
    return seen


def test_running_five_thousand_cells(large: Checkout) -> None:
    """All cells, in blocks of 50 seeds: about twenty minutes on two cores."""
    process = start(large.root, "--config", "block_size=50", "results=results/blocks", "--until", "verify", "alpha")
    seen = watch(process, large.root)
    assert process.returncode == 0, (large.root / "out.txt").read_text()[-4000:]
    cells = list((large.root / "results" / "blocks" / "unlearn").rglob("cells.parquet"))
    rows = sum(read_table(file, CELLS)[["variant", "seed"]].drop_duplicates().shape[0] for file in cells)
    peak = max(megabytes for _, megabytes in seen)
    print(f"ran {rows} cells in {seen[-1][0]} jobs with at most {peak:.0f} MB")
    assert rows == SEEDS * len(VARIANTS)
    assert peak < MEGABYTES


def test_memory_does_not_grow_with_the_jobs_that_are_done(large: Checkout) -> None:
    """The first 150 of the 9,012 jobs with one block per seed; memory must not grow after the first 30."""
    process = start(large.root, "--config", "results=results/singles")
    try:
        seen = watch(process, large.root, jobs=150)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
    early, late = (max(mb for done, mb in seen if done in part) for part in (range(20, 50), range(120, 200)))
    print(f"{early:.0f} MB after 50 jobs, {late:.0f} MB after 150")
    assert late < MEGABYTES
    assert late - early < 5  # 5 MB per hundred jobs would be 450 MB for all 9,012


def fill(root: Path, num_seeds: int = SEEDS, size: int = 1) -> None:
    """Write every table that the report reads, for blocks of `size` seeds."""
    write(root / "null_space" / "null_space.parquet", NULL_SPACE, [{"seed": 0, "step": n} for n in range(3)])
    for first in range(0, num_seeds, size):
        seeds = range(first, first + size)
        block, keys = block_name(seeds), [{"scenario": "smoke", "seed": seed} for seed in seeds]
        cells = [
            key | {"variant": v, "stop": s, "request": r, "status": "done", "rounds": 10 + key["seed"] % 7 + i}
            for key in keys
            for i, v in enumerate(VARIANTS)
            for s in ("target", "budget_50")
            for r in (1, 2, 3)
        ]
        trained = [key | {"variant": "train", "stop": "target", "request": 0, "status": "done"} for key in keys]
        write(root / "train/smoke" / block / "cells.parquet", CELLS, trained)
        for v in VARIANTS:
            write(root / "unlearn/smoke" / v / block / "cells.parquet", CELLS, [c for c in cells if c["variant"] == v])
        names = [(m, s) for m in ("accuracy", "gap_to_scratch") for s in ("retain", "forget", "forgotten")]
        cell = [{k: c[k] for k in ("scenario", "seed", "variant", "stop", "request")} for c in cells]
        metrics = [c | {"metric": m, "subset": s, "value": c["seed"] / num_seeds} for c in cell for m, s in names]
        write(root / "verify/smoke" / block / "metrics.parquet", METRICS, metrics)
        write(root / "verify/smoke" / block / "verification.parquet", VERIFICATION, [])
        points = [{"change": "", "client": c, "round": r, "alpha": r / 9.0} for c in range(3) for r in range(20)]
        alpha = [key | point for key in keys for point in points]
        write(root / "alpha/smoke" / block / "alpha.parquet", ALPHA, alpha)


def test_reporting(large: Checkout) -> None:
    fill(large.root / "results")
    config = ("--config", "config/large.yaml")
    for command in ("report", "page"):  # figures are separate jobs, each about as long as reading its tables
        _, seconds, megabytes = timed(large.root, "sifu", command, *config)
        print(f"{command}: {seconds:.0f} s, {megabytes:.0f} MB")
        assert megabytes < 2 * MEGABYTES
    page = (large.root / "results" / "report" / "report.html").read_text()
    assert "planned tables are missing" not in page
    assert page.count("1000 seeds") >= 1


def test_fifty_thousand_cells(large: Checkout) -> None:
    """10,000 seeds in blocks of ten, five variants: planned within 3 minutes of a processor and 2 GB, and reported.

    A job is a block and a variant. What Snakemake takes for a job (`python -m sifu bench --plan 5000`) does not depend
    on its seeds.
    """
    seeds, size, root = 10 * SEEDS, 10, large.root
    given = {"num_seeds": seeds, "block_size": size, "results": "results/many"}
    (root / "config" / "many_seeds.yaml").write_text(yaml.safe_dump(CONFIG | given))
    config = "config/many_seeds.yaml"
    command = ("snakemake", "-n", "--quiet", "rules", "--cores", "2", "--configfile", config)
    output, seconds, megabytes = timed(root, *command)
    print(f"planned {seeds * len(VARIANTS)} cells in {seconds:.0f} s with {megabytes:.0f} MB")
    assert parse_plan(output)["unlearn"] * size == seeds * len(VARIANTS) == 50_000
    assert seconds < 180
    assert megabytes < 2 * MEGABYTES
    fill(root / "results/many", seeds, size)
    for name in (("report",), ("figure", "frontier"), ("page",)):
        _, seconds, megabytes = timed(root, "sifu", *name, "--config", config)
        print(f"{name[0]}: {seconds:.0f} s, {megabytes:.0f} MB")
        assert megabytes < 2 * MEGABYTES
    assert "10000 seeds" in (root / "results/many/report/report.html").read_text()
