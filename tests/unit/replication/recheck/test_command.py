"""A small finished run: its cells run again."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import torch

from sifu.cli.main import main
from sifu.config.blocks import block_seeds
from sifu.replication.claims.stored_tables import read_tables
from sifu.replication.recheck.agreement import compare
from sifu.replication.recheck.command import made_with
from sifu.replication.recheck.pace import Pace, pace_of
from sifu.replication.recheck.rerun import Machine, rerun
from sifu.replication.recheck.sample import sample_cells
from sifu.replication.recheck.stored_run import named_cell, read_stored_run
from sifu.store.cell import CellKey
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS
from tests.conftest import one_sentence
from tests.small_replication import World
from tests.small_run import BLOCK, VARIANTS


def recheck(root: Path, *more: str) -> int:
    with contextlib.chdir(root):
        return main(["verify-paper", "--config", str(root / "config" / "small.yaml"), "--device", "cpu", *more])


def test_cells_that_are_run_again_agree(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the same machine even to the digit: stored and again are the same."""
    assert recheck(small_run, "--cells", "2", "--sample-seed", "1") == 0
    printed, said = capsys.readouterr()
    assert "run again, compared with those of results: 2 same, 0 close, 0 within seeds, 0 differs" in printed
    assert said.count(": same") == 2, "each as soon as it is known"
    assert len(re.findall(r"(18 of 18|21 of 21) numbers", printed)) == 2, (
        "3 requests: status, rounds, steps, 3 accuracies (the digits have no test set); to the target a sensitivity"
    )


@pytest.fixture(scope="module")
def again_of(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[CellKey], Path]:
    """The folder of a cell that was run again: all its requests, once for all tests that read it."""

    @cache
    def made(scenario: str, variant: str, stop: str, seed: int) -> Path:
        folder = tmp_path_factory.mktemp("again")
        machine = Machine(small_run / "config", small_run / "results", small_run, "cpu")
        rerun(CellKey(scenario, variant, stop, seed, 1), machine, folder)
        return folder

    return lambda cell: made(*cell[:4])


@pytest.mark.parametrize("variant", [pytest.param("scratch", marks=pytest.mark.second), "sifu", "dp_smoke"])
def test_a_named_cell_is_the_same_to_the_digit(
    small_run: Path, again_of: Callable[[CellKey], Path], variant: str
) -> None:
    """With a training of its own, too: the search is the stored one."""
    cell = CellKey("smoke", variant, "target", 1, 3)
    stored, again = (read_tables(folder) for folder in (small_run / "results", again_of(cell)))
    found = compare(cell, stored, again, elsewhere=False)
    counted = ["status", "rounds", "client steps", "strict psi"]
    quantities = [*counted, *(f"accuracy, {subset}" for subset in ("forget", "forgotten", "retain"))]
    assert [(number.request, number.quantity) for number in found] == [(u, q) for u in (1, 2, 3) for q in quantities]
    assert all(number.stored == number.again for number in found)
    assert set(again.cells["stop"]) == {"target"}, "other limits were run, too"


@pytest.mark.second
def test_a_budget_is_run_under_its_own_rule(small_run: Path, again_of: Callable[[CellKey], Path]) -> None:
    cell = CellKey("smoke", "sifu", "budget_50", 1, 1)
    found = compare(cell, read_tables(small_run / "results"), read_tables(again_of(cell)), elsewhere=False)
    assert len(found) == 3 * 7  # requests; status, rounds, steps, strict psi and three accuracies
    assert all(number.stored == number.again for number in found)
    assert named_cell("smoke/sifu/1/budget_50", read_stored_run(small_run / "results")) == cell._replace(request=3)
    assert named_cell("smoke/sifu/0", read_stored_run(small_run / "results")).stop == "target"


def tampered(small_run: Path, root: Path, device: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Path:
    """The same run with other cells of SIFU, as if they had been stored by a `device`."""
    shutil.copytree(small_run, root)
    path = root / "results" / "unlearn" / "smoke" / "sifu" / BLOCK / "cells.parquet"
    write_table(path, CELLS, change(read_table(path, CELLS)), provenance("unlearn", {}, "", device))
    return root


def shifted(cells: pd.DataFrame) -> pd.DataFrame:
    """Seed 0 took 30 rounds more than it did, and seed 1 as many as it did, so that the seeds have their spread."""
    return cells.assign(rounds=cells["rounds"] + cells["seed"].map({0: 30, 1: 0}))


@pytest.mark.second
@pytest.mark.parametrize(
    ("device", "code", "counts"),
    [
        ("cpu", 1, "0 same, 0 close, 0 within seeds, 1 differs"),
        ("another", 0, "0 same, 0 close, 1 within seeds, 0 differs"),
    ],
)
def test_only_another_device_may_be_as_far_as_another_seed(
    small_run: Path, tmp_path: Path, device: str, code: int, counts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tampered(small_run, tmp_path / "other", device, shifted)
    assert recheck(root, "--cell", "smoke/sifu/0") == code
    printed = capsys.readouterr().out
    assert f"run again, compared with those of results: {counts}" in printed
    assert ("no closer than another seed would be" in printed) == (code == 0), "what is weak says so"


def test_a_cell_that_differs_is_noticed_on_any_device(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tampered(small_run, tmp_path / "other", "another", lambda cells: cells.assign(rounds=cells["rounds"] + 500))
    assert recheck(root, "--cell", "smoke/sifu/0") == 1
    assert "0 within seeds, 1 differs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--results", "/none"], "no unlearned cells under /none: run make paper"),
        (["--minutes", "1e-9"], "no stored cell fits into 1e-09 minutes for 5: allow --minutes"),
        (["--minutes", "0"], "--minutes: 0.0 is refused"),
        (["--cells", "0"], "--cells: 0 is refused"),
        (["--cell", "smoke/sifu/0/x"], "has no cell smoke/sifu/0/x (x) that was run to its end"),
        (["--cell", "smoke/sifu/0/target/1"], "allowed: scenario/variant/seed, such as mnist/sifu/0"),
        (["--cell", "smoke/sifu"], "allowed: scenario/variant/seed, such as mnist/sifu/0"),
        (["--cell", "smoke/sifu/7"], "has no cell smoke/sifu/7 (target) that was run to its end"),
    ],
)
def test_what_cannot_be_run_again_is_one_sentence(
    small_run: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recheck(small_run, *more) == 2
    assert words in one_sentence(capsys)


def test_without_the_datasets_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    World(("cifar10",)).write(tmp_path)
    more = ["--results", str(tmp_path / "results" / "paper"), "--data-root", str(tmp_path / "none")]
    assert main(["verify-paper", "--config", str(tmp_path / "config" / "paper.yaml"), *more]) == 2
    assert "no dataset of the stored cells is here: set SIFU_DATA_ROOT" in capsys.readouterr().err


def test_a_sample_is_cheap_and_its_own(small_run: Path) -> None:
    """A second a round: cells cost their rounds, and a limit leaves out what is above."""
    stored = read_stored_run(small_run / "results")
    costs = {cell[:4]: stored.rounds(cell, own(cell)) for cell in sample_cells(stored, 100, 1e9, 0, second)}
    assert len(costs) == 2 * 2 * len(VARIANTS), "seeds, stops, variants"
    limit = sorted(costs.values())[5]
    cheap = sample_cells(stored, 4, 4 * limit / 60, 0, second)
    assert len({cell[:4] for cell in cheap}) == 4
    assert all(costs[cell[:4]] <= limit for cell in cheap)
    assert cheap == sample_cells(stored, 4, 4 * limit / 60, 0, second)
    assert cheap != sample_cells(stored, 4, 4 * limit / 60, 1, second)
    blocks = sample_cells(stored, 100, 1e9, 0, second, together=True)
    assert len({cell[:3] for cell in blocks}) == len(blocks) == 2 * len(VARIANTS), "a block is run once"
    fewer = sample_cells(stored, 4, 4 * limit / 60, 0, second, together=True)
    assert fewer
    assert all(stored.rounds(cell, range(2)) <= limit for cell in fewer), "both seeds are run, and wait for each other"


def second(_: str) -> Pace:
    return Pace(1.0)


def own(cell: CellKey) -> range:
    return range(cell.seed, cell.seed + 1)


def rounds_in(folder: Path, seed: int) -> int:
    """All rounds of a seed that lie in a folder, trainings and requests."""
    stored = read_stored_run(folder)
    return sum(
        int(table.loc[table["seed"] == seed, "rounds"].sum()) for table in (stored.training, stored.tables.cells)
    )


@pytest.mark.second
@pytest.mark.parametrize(("variant", "stop"), [("sifu", "target"), ("sifu", "budget_50"), ("dp_smoke", "budget_50")])
def test_what_a_cell_costs_is_what_is_run_for_it(
    small_run: Path, again_of: Callable[[CellKey], Path], variant: str, stop: str
) -> None:
    """On the same machine a re-run takes the rounds that are stored: both trainings of DP, and the target next to
    a budget.
    """
    cell = CellKey("smoke", variant, stop, 1, 1)
    needed = pace_of(small_run / "config", cell.scenario, small_run).needed
    assert read_stored_run(small_run / "results").rounds(cell, own(cell), needed) == rounds_in(again_of(cell), 1)


@pytest.mark.long
def test_a_cell_can_be_run_again_in_its_block(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a GPU, where rounding depends on which seeds are run together; on a CPU the cell is the same both ways."""
    cell = CellKey("smoke", "sifu", "target", 1, 3)
    rerun(cell, Machine(small_run / "config", small_run / "results", small_run, "cpu", seeds="block"), tmp_path)
    assert {path.parent.name for path in tmp_path.glob("unlearn/*/*/*/cells.parquet")} == {BLOCK}
    assert recheck(small_run, "--cell", "smoke/sifu/1", "--seeds", "block") == 0
    assert "2 same, 0 close, 0 within seeds, 0 differs" in capsys.readouterr().out, "all that were run are compared"


@pytest.mark.parametrize(
    ("seeds", "kind", "together"),
    [("auto", "cpu", False), ("auto", "cuda", True), ("own", "cuda", False), ("block", "cpu", True)],
)
def test_a_gpu_runs_the_block(seeds: str, kind: str, together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sifu.replication.recheck.rerun.choose_device", lambda _: torch.device(kind))
    assert Machine(Path(), Path(), Path(), seeds=seeds).together is together


@pytest.mark.parametrize(("device", "other"), [("cpu", False), ("NVIDIA H200, tf32", True)])
def test_rounding_depends_on_the_block_on_a_gpu(small_run: Path, tmp_path: Path, device: str, other: bool) -> None:
    cells = read_table(small_run / "results" / "unlearn" / "smoke" / "sifu" / BLOCK / "cells.parquet", CELLS)
    for block in (BLOCK, "s001-001"):
        path = tmp_path / block / "unlearn" / "smoke" / "sifu" / block / "cells.parquet"
        write_table(path, CELLS, cells[cells["seed"].isin(block_seeds(block))], provenance("unlearn", {}, "", device))
    cell = CellKey("smoke", "sifu", "target", 1, 1)
    one, two = (made_with(cell, tmp_path / block) for block in (BLOCK, "s001-001"))
    assert (one != two) is other


@pytest.mark.second
def test_a_cell_is_run_again_with_the_settings_that_it_was_made_with(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The step size of today is another one: with it, the cell would differ."""
    shutil.copytree(small_run, tmp_path / "run")
    path = tmp_path / "run" / "config" / "scenarios.yaml"
    head, smoke = path.read_text().split("\nsmoke:", 1)
    path.write_text(f"{head}\nsmoke:{smoke.replace('client_lr: 0.01', 'client_lr: 0.02', 1)}")
    assert recheck(tmp_path / "run", "--cell", "smoke/sifu/1") == 0
    printed, said = capsys.readouterr()
    assert "1 same, 0 close, 0 within seeds, 0 differs" in printed
    assert "again: smoke/sifu/1 target, as it was made: client_lr was 0.01" in said
    machine = Machine(tmp_path / "run" / "config", tmp_path / "run" / "results", tmp_path, "cpu")
    rerun(CellKey("smoke", "sifu", "target", 1, 1), machine, tmp_path / "today")
    found = [read_tables(folder).cells for folder in (tmp_path / "run" / "results", tmp_path / "today")]
    rounds = [cells.loc[(cells["variant"] == "sifu") & (cells["seed"] == 1), "client_steps"].sum() for cells in found]
    assert rounds[0] != rounds[1]


@pytest.mark.second
def test_a_backdoor_is_run_with_scratch(small_run: Path, tmp_path: Path) -> None:
    scenario = "smoke_backdoor"
    cell = CellKey(scenario, "sifu", "target", 0, 1)
    rerun(cell, Machine(small_run / "config", small_run / "results", small_run, "cpu"), tmp_path)
    assert set(read_tables(tmp_path).cells["variant"]) == {"scratch", "sifu"}
    assert pace_of(small_run / "config", scenario, small_run).needed == ("scratch",)
    assert read_stored_run(tmp_path).rounds(cell, own(cell), ("scratch",)) == rounds_in(tmp_path, 0)
