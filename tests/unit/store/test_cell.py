"""`python -m sifu cell`: every number of one cell, and the same cell in two folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sifu.cli.main import main
from sifu.report.packed import FOLDER, pack
from sifu.store.missing_cell import why_missing
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS
from tests.conftest import one_sentence


def cell(root: Path, *more: str, seed: str = "1") -> int:
    wanted = ["--scenario", "smoke", "--variant", "sifu", "--seed", seed]
    return main(["cell", *wanted, "--results", str(root / "results"), *more])


def test_a_cell_is_the_row_of_the_table(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cell(small_run, "--request", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    table = small_run / "results" / "unlearn" / "smoke" / "sifu" / "s000-001" / "cells.parquet"
    row = read_table(table, CELLS).query("seed == 1 and request == 2 and stop == 'target'").iloc[0]
    assert found["numbers"]["psi"] == row["psi"]
    assert found["numbers"]["rounds"] == row["rounds"]
    assert found["numbers"]["spent_epsilon"] is None
    assert 0 < found["metrics"]["accuracy, retain"] <= 1
    assert found["made by"]["file"] == str(table)
    assert cell(small_run, "--request", "2") == 0
    assert f"  psi                                  {float(row['psi'])!r}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--request", "4"], "has no row with request 4; it has 1, 2, 3"),
        (["--stop", "budget_25"], "has no row with stop budget_25; it has budget_50, target"),
        (["--variant", "last"], "/unlearn/smoke, which has dp_smoke, scratch and sifu: run its stage `unlearn` first"),
        (["--variant", "sifuu"], "/unlearn/smoke (did you mean sifu?)"),
        (["--variant", "sifuu"], "no variant sifuu under "),
        (["--scenario", "smok"], "no scenario smok under "),
        (["--scenario", "smok"], "/unlearn (did you mean smoke?)"),
        (["--scenario", "mnist"], "/unlearn, which has smoke: run its stage"),
        (["--seed", "9"], "no seed 9 under "),
        (["--seed", "9"], "/unlearn/smoke/sifu; it has seeds 0 and 1"),
        (["--against", "/none"], "nothing was unlearned under /none/unlearn: run its stage"),
    ],
)
def test_a_cell_that_is_not_there(
    small_run: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cell(small_run, *more) == 2
    assert words in one_sentence(capsys)


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        (["s003-003"], "it has seed 3"),
        (["s000-000", "s001-001", "s004-009", "s010-012"], "it has seeds 0, 1 and 4 to 12"),
        (["s000-009", "somewhere"], "it has seeds 0 to 9"),
        (["somewhere"], "it has no blocks of seeds"),
    ],
)
def test_the_seeds_that_are_there(tmp_path: Path, blocks: list[str], words: str) -> None:
    """Of several blocks; a folder of another name holds none."""
    for block in blocks:
        folder = tmp_path / "unlearn" / "smoke" / "sifu" / block
        folder.mkdir(parents=True)
        (folder / "cells.parquet").touch()
    assert why_missing(tmp_path, "smoke", "sifu", 99).endswith(words)


def test_a_folder_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    """It has a log and no table."""
    (tmp_path / "unlearn" / "smoke" / "sifu" / "s000-001").mkdir(parents=True)
    assert why_missing(tmp_path, "smoke", "sifu", 0).startswith("nothing was unlearned under ")


def test_the_results_of_a_config_lie_in_a_folder_of_their_own(
    small_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of config/smoke.yaml do: the option then names the folder above them."""
    monkeypatch.chdir(small_run)
    assert cell(small_run, "--results", ".") == 2
    assert one_sentence(capsys) == "error: nothing was unlearned under unlearn; --results may be results"


def test_cells_of_a_packed_run_are_there(small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a clone has the published ones: a cell, and the names where one is not there."""
    run, clone = shutil.copytree(small_run / "results", tmp_path / "run"), tmp_path / "clone"
    pack(run, {"smoke": "mnist"})
    shutil.copytree(run / FOLDER, clone / FOLDER)
    assert cell(small_run, "--results", str(clone), "--scenario", "mnist") == 2
    assert "/unlearn, which has smoke: run its stage" in one_sentence(capsys)
    assert cell(small_run, "--against", str(clone)) == 0


def test_two_folders_are_compared(small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seed 0 under the name of seed 1 is another cell."""
    other = tmp_path / "other"
    shutil.copytree(small_run / "results", other)
    assert cell(small_run, "--against", str(other)) == 0
    assert "numbers are the same to the last digit" in capsys.readouterr().out
    path = other / "unlearn" / "smoke" / "sifu" / "s000-001" / "cells.parquet"
    table = read_table(path, CELLS)
    write_table(path, CELLS, table.assign(seed=1 - table["seed"]), provenance("unlearn", {}, "", "cpu"))
    assert cell(small_run, "--against", str(other)) == 2
    assert "numbers differ from" in capsys.readouterr().err
    shutil.copytree(path.parent, path.parent.with_name("s001-001"))
    assert main(["cell", "--scenario", "smoke", "--variant", "sifu", "--seed", "1", "--results", str(other)]) == 2
    assert "is in several blocks under" in capsys.readouterr().err
