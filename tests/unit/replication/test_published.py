"""From a finished run to a folder of the docs, on a small one."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from sifu.cli.main import main
from sifu.replication.published import changes, read_manifest, table_pages
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS
from tests.conftest import REPO, one_sentence

BLOCK = ["--scenario", "smoke", "--block", "s000-001"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the smoke scenario; its config and results lie together."""
    root = tmp_path_factory.mktemp("run")
    shutil.copytree(REPO / "config", root / "config")
    results = root / "results"
    text = "scenarios: [smoke]\nvariants: [scratch, sifu]\nnum_seeds: 2\nblock_size: 2\nresults: results\n"
    (root / "config" / "small.yaml").write_text(text)
    usual = [*BLOCK, "--config", str(root / "config"), "--results", str(results)]
    assert main(["partition", *usual]) == 0
    for stage in (["train"], ["unlearn", "--variant", "scratch"], ["unlearn", "--variant", "sifu"], ["alpha"]):
        assert main([*stage, *usual, "--device", "cpu"]) == 0
    assert main(["verify", "--variants", "scratch", "sifu", *usual, "--device", "cpu"]) == 0
    config = ["--config", str(root / "config" / "small.yaml")]
    with contextlib.chdir(root):
        assert main(["report", *config]) == 0
        assert main(["figure", "requests", "sigma", *config]) == 0
    return root


def publish(root: Path, folder: Path) -> int:
    with contextlib.chdir(root):
        return main(["publish", "--config", str(root / "config" / "small.yaml"), "--to", str(folder)])


def test_a_published_folder(done: Path, tmp_path: Path) -> None:
    """Tables with rows, figures with something to show, and what they are of; what was there before is gone."""
    (tmp_path / "old.csv").write_text("a\n1\n")
    (tmp_path / "notes.txt").touch()
    assert publish(done, tmp_path) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"{name}.csv" for name in ("headline", "budgets", "certificates", "bounds", "settings")),
        "requests.png",
        "manifest.json",
        "notes.txt",
    }
    for page, text in table_pages(tmp_path).items():
        made = done / "results" / "report" / "tables" / page.name
        assert text == made.read_text(), "docs and report render the same table differently"


def test_the_manifest_says_what_was_run(done: Path, tmp_path: Path) -> None:
    assert publish(done, tmp_path) == 0
    manifest = read_manifest(tmp_path)
    assert manifest["seeds"] == [0, 1]
    assert manifest["device"] == "cpu"
    assert manifest["variants"]["sifu"]["label"] == "SIFU"
    assert manifest["scenarios"]["smoke"]["stop"]["accuracy"] == 0.8
    config = done / "config" / "small.yaml"
    assert changes(manifest, config) == []
    scenarios = done / "config" / "scenarios.yaml"
    before = scenarios.read_text()
    scenarios.write_text(before.replace("stop: {accuracy: 0.8, min_rounds: 10", "stop: {accuracy: 0.7, min_rounds: 10"))
    assert changes(manifest, config) == ["scenarios.smoke.stop.accuracy: 0.8, now 0.7"]
    scenarios.write_text(before)


def test_a_run_that_is_not_finished_is_not_published(
    done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (done / "config" / "small.yaml").read_text()
    (done / "config" / "larger.yaml").write_text(text.replace("num_seeds: 2", "num_seeds: 4"))
    (tmp_path / "headline.csv").write_text("kept\n")
    assert main(["publish", "--config", str(done / "config" / "larger.yaml"), "--to", str(tmp_path)]) == 2
    assert "is not complete: run make CONFIG=" in capsys.readouterr().err
    assert (tmp_path / "headline.csv").read_text() == "kept\n"


def cell(done: Path, *more: str, seed: str = "1") -> int:
    wanted = ["--scenario", "smoke", "--variant", "sifu", "--seed", seed]
    return main(["cell", *wanted, "--results", str(done / "results"), *more])


def test_a_cell_is_the_row_of_the_table(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cell(done, "--request", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    table = done / "results" / "unlearn" / "smoke" / "sifu" / "s000-001" / "cells.parquet"
    row = read_table(table, CELLS).query("seed == 1 and request == 2 and stop == 'target'").iloc[0]
    assert found["numbers"]["psi"] == row["psi"]
    assert found["numbers"]["rounds"] == row["rounds"]
    assert found["numbers"]["spent_epsilon"] is None
    assert 0 < found["metrics"]["accuracy, retain"] <= 1
    assert found["made by"]["file"] == str(table)
    assert cell(done, "--request", "2") == 0
    assert f"  psi                                  {float(row['psi'])!r}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--request", "4"], "has no row with request 4; it has 1, 2, 3"),
        (["--stop", "budget_25"], "has no row with stop budget_25; it has budget_50, target"),
        (["--variant", "last"], "no block with seed 1 under"),
        (["--against", "/none"], "no block with seed 1 under /none"),
    ],
)
def test_a_cell_that_is_not_there(done: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cell(done, *more) == 2
    assert words in one_sentence(capsys)


def test_two_folders_are_compared(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seed 0 under the name of seed 1 is another cell."""
    other = tmp_path / "other"
    shutil.copytree(done / "results", other)
    assert cell(done, "--against", str(other)) == 0
    assert "numbers are the same to the last digit" in capsys.readouterr().out
    path = other / "unlearn" / "smoke" / "sifu" / "s000-001" / "cells.parquet"
    table = read_table(path, CELLS)
    write_table(path, CELLS, table.assign(seed=1 - table["seed"]), provenance("unlearn", {}, "", "cpu"))
    assert cell(done, "--against", str(other)) == 2
    assert "numbers differ from" in capsys.readouterr().err
    shutil.copytree(path.parent, path.parent.with_name("s001-001"))
    assert main(["cell", "--scenario", "smoke", "--variant", "sifu", "--seed", "1", "--results", str(other)]) == 2
    assert "is in several blocks under" in capsys.readouterr().err
