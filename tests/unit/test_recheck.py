"""A small finished run: its manifest, and its cells run again."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from sifu.__main__ import main
from sifu.cell import Wanted
from sifu.claims.tables import Tables, read_tables
from sifu.docs.blocks import filled
from sifu.docs.published import MNIST, REPLICATION, quoted
from sifu.provenance import provenance
from sifu.recheck.agreement import compare
from sifu.recheck.rerun import Machine, rerun
from sifu.recheck.sample import sample_cells
from sifu.recheck.stored import read_stored
from sifu.schemas import CELLS, METRICS
from sifu.store import read_table, write_table
from sifu.timing import Spell, busy_seconds, spell_of, timed
from tests.claimed import World
from tests.conftest import REPO, one_sentence

BLOCK = "s000-001"
VARIANTS = ("scratch", "sifu", "dp_smoke")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of the smoke scenario: config and results lie together."""
    root = tmp_path_factory.mktemp("run")
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
    return root


def manifest(root: Path) -> dict[str, object]:
    with contextlib.chdir(root):
        assert main(["manifest", "--config", str(root / "config" / "small.yaml")]) == 0
    found: dict[str, object] = json.loads((root / "results" / "manifest.json").read_text())
    return found


def test_a_manifest_names_every_job(done: Path) -> None:
    found = manifest(done)
    blocks = pd.DataFrame(found["blocks"])
    jobs = [f"{job.stage} {job.scenario} {job.variant}".strip() for job in blocks.itertuples()]
    assert jobs == [
        *["partition smoke"] * 2,
        "search smoke dp_smoke",
        "train smoke dp_smoke",
        "train smoke",
        *(f"unlearn smoke {name}" for name in sorted(VARIANTS)),
        "verify smoke",
    ]
    assert blocks["seeds"].tolist() == [[0, 1], [1_000_000, 1_000_000], [1_000_000, 1_000_000], *[[0, 1]] * 6]
    assert (blocks["seconds"] > 0).all()
    assert found["seconds"] == {"cpu": pytest.approx(blocks["seconds"].sum())}
    assert found["seeds"] == [0, 1]
    assert set(blocks["device"]) == {"cpu"} == {found["device"]}
    assert blocks["code_hash"].nunique() > 1


def test_the_hash_is_that_of_the_settings(done: Path, tmp_path: Path) -> None:
    before = manifest(done)["settings_hash"]
    shutil.copytree(done, tmp_path / "copy")
    config = tmp_path / "copy" / "config"
    text = (config / "small.yaml").read_text()
    assert manifest(tmp_path / "copy")["settings_hash"] == before, "the place of the results counts"
    (config / "small.yaml").write_text(text.replace("num_seeds: 2", "num_seeds: 3"))
    assert manifest(tmp_path / "copy")["settings_hash"] != before


def test_a_run_without_results_has_no_manifest(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.chdir(tmp_path):
        assert main(["manifest", "--config", str(done / "config" / "small.yaml")]) == 2
    assert "nothing has been unlearned under" in capsys.readouterr().err
    assert not list(tmp_path.rglob("manifest.json"))


def test_the_time_of_a_job(tmp_path: Path) -> None:
    assert spell_of(tmp_path).seconds is None
    (tmp_path / "benchmark.tsv").write_text("s\th:m:s\n4.5\t0:00:04\n6.5\t0:00:06\n")
    assert spell_of(tmp_path).seconds == 6.5, "Snakemake's last run counts"
    with timed(tmp_path):
        pass
    found = spell_of(tmp_path).seconds
    assert found is not None
    assert found < 1, "our own clock comes first"
    (tmp_path / "time.json").write_text("{")
    assert spell_of(tmp_path).seconds == 6.5


def test_jobs_at_once_count_once() -> None:
    """0 to 10 and 5 to 15 are 15 seconds, 30 to 35 are 5; 3 more began nobody knows when: 23. 31 to 32 adds nothing."""
    spells = [Spell(30.0, 5.0), Spell(0.0, 10.0), Spell(None, 3.0), Spell(5.0, 10.0), Spell(31.0, 1.0)]
    assert busy_seconds(spells) == 23
    assert busy_seconds([Spell(None, None)]) == 0


def test_a_job_that_fails_leaves_no_time(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), timed(tmp_path):
        raise ValueError("broken")
    assert not list(tmp_path.iterdir())


def test_the_readme_quotes_the_replication_once_it_is_there(done: Path, tmp_path: Path) -> None:
    page = "<!-- docs: figure --><!-- end --> <!-- docs: tables --><!-- end --> <!-- docs: setting --><!-- end -->"
    page += "\n<!-- docs: headline -->\n<!-- end -->\n"
    shutil.copytree(REPO / MNIST, tmp_path / MNIST)
    before = filled(page, tmp_path)
    assert "(docs/mnist/requests.png)" in before
    assert "make mnist" in before
    manifest(done)
    shutil.copytree(done / "results" / "report", tmp_path / REPLICATION / "report")
    assert quoted(tmp_path).folder == tmp_path / MNIST, "a run without its manifest is quoted"
    shutil.copy(done / "results" / "manifest.json", tmp_path / REPLICATION)
    after = filled(page, tmp_path)
    assert "(results/paper/report/figures/requests.png)" in after
    assert "[all requests](results/paper/report/tables/headline.md)" in after
    assert "Smoke with the paper's settings: 20 clients" in after
    assert "make paper" in after
    assert "| SIFU | " in after
    assert "mnist" not in after


def verify(root: Path, *more: str) -> int:
    with contextlib.chdir(root):
        return main(["verify-paper", "--config", str(root / "config" / "small.yaml"), "--device", "cpu", *more])


def test_cells_that_are_run_again_agree(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the same machine even to the digit: stored and again are the same."""
    assert verify(done, "--cells", "2", "--sample-seed", "1") == 0
    assert "2 of 2 cells agree with those of" in capsys.readouterr().out


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_named_cell_is_the_same_to_the_digit(done: Path, tmp_path: Path, variant: str) -> None:
    """With a training of its own, too: the search is the stored one."""
    cell = Wanted("smoke", variant, "target", 1, 3)
    rerun(cell, Machine(done / "config", done / "results", done, "cpu"), tmp_path)
    stored, again = (read_tables(folder) for folder in (done / "results", tmp_path))
    found = compare(cell, stored, again)
    assert [number.quantity for number in found][:3] == ["status", "rounds", "accuracy, retain"]
    assert all(number.stored == number.again for number in found)
    assert set(again.cells["stop"]) == {"target"}, "other limits were run, too"


def test_a_budget_is_run_under_its_own_rule(done: Path, tmp_path: Path) -> None:
    cell = Wanted("smoke", "sifu", "budget_50", 0, 1)
    rerun(cell, Machine(done / "config", done / "results", done, "cpu"), tmp_path)
    found = compare(cell, read_tables(done / "results"), read_tables(tmp_path))
    assert all(number.stored == number.again for number in found)


def tampered(done: Path, root: Path, change: int) -> Path:
    """The same run with other rounds in the stored cells."""
    shutil.copytree(done, root)
    path = root / "results" / "unlearn" / "smoke" / "sifu" / BLOCK / "cells.parquet"
    table = read_table(path, CELLS)
    write_table(path, CELLS, table.assign(rounds=table["rounds"] + change), provenance("unlearn", {}, "", "cpu"))
    return root


def test_a_cell_that_disagrees_is_noticed(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tampered(done, tmp_path / "other", 500)
    assert verify(root, "--cell", "smoke/sifu/0") == 1
    printed = capsys.readouterr().out
    assert "DISAGREES" in printed
    assert "0 of 1 cells agree" in printed


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--results", "/none"], "no unlearned cells under /none: run make paper"),
        (["--minutes", "1e-9"], "no stored cell fits into 1e-09 minutes for 5: allow --minutes"),
        (["--minutes", "0"], "--minutes: 0.0 is refused"),
        (["--cells", "0"], "--cells: 0 is refused"),
        (["--cell", "smoke/sifu"], "allowed: scenario/variant/seed, such as mnist/sifu/0"),
        (["--cell", "smoke/sifu/7"], "has no cell smoke/sifu/7 that was run to its target"),
    ],
)
def test_what_cannot_be_run_again_is_one_sentence(
    done: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(done, *more) == 2
    assert words in one_sentence(capsys)


def test_without_the_datasets_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    World(("cifar10",)).write(tmp_path)
    more = ["--results", str(tmp_path / "results" / "paper"), "--data-root", str(tmp_path / "none")]
    assert main(["verify-paper", "--config", str(tmp_path / "config" / "paper.yaml"), *more]) == 2
    assert "no dataset of the stored cells is here: set SIFU_DATA_ROOT" in capsys.readouterr().err


def test_a_sample_is_cheap_and_its_own(done: Path) -> None:
    """A second a round: MNIST's cells of 2 requests cost their rounds, and a limit leaves out what is above."""
    stored = read_stored(done / "results")
    costs = {cell[:4]: stored.seed_rounds(cell) for cell in sample_cells(stored, 100, 1e9, 0, lambda _: 1.0)}
    assert len(costs) == 2 * 2 * len(VARIANTS), "seeds, stops, variants"
    limit = sorted(costs.values())[5]
    cheap = sample_cells(stored, 4, 4 * limit / 60, 0, lambda _: 1.0)
    assert len({cell[:4] for cell in cheap}) == 4
    assert all(costs[cell[:4]] <= limit for cell in cheap)
    assert cheap == sample_cells(stored, 4, 4 * limit / 60, 0, lambda _: 1.0)
    assert cheap != sample_cells(stored, 4, 4 * limit / 60, 1, lambda _: 1.0)


CELL = Wanted("s", "v", "target", 0, 1)


def tables(rounds: list[int], accuracy: list[float], status: str = "done") -> Tables:
    """A seed for each number."""
    keys = [CELL._asdict() | {"seed": seed} for seed in range(len(rounds))]
    cells = [key | {"status": status, "rounds": count} for key, count in zip(keys, rounds, strict=True)]
    values = [
        key | {"metric": "accuracy", "subset": "forget", "value": v} for key, v in zip(keys, accuracy, strict=True)
    ]
    frames = [
        pd.DataFrame(rows, columns=[column.name for column in table.columns])
        for rows, table in ((cells, CELLS), (values, METRICS))
    ]
    empty = pd.DataFrame()
    return Tables(*frames, empty, empty, empty, empty)


@pytest.mark.parametrize(
    ("rounds", "accuracy", "status", "agrees"),
    [
        (70, 0.4, "done", [True, True, True]),  # 100 - 30 and 0.5 - 0.1: just inside
        (69, 0.39, "done", [True, False, False]),
        (190, 0.8, "done", [True, True, True]),  # 160 + 30 and 0.7 + 0.1
        (191, 0.81, "done", [True, False, False]),
        (100, 0.5, "diverged", [False, True, True]),
    ],
)
def test_the_range_of_the_seeds_widened_by_their_spread(
    rounds: int, accuracy: float, status: str, agrees: list[bool]
) -> None:
    """Deviations: 30 of 100, 130, 160; 0.1 of 0.5, 0.6, 0.7 (a hair more: rounding)."""
    stored = tables([100, 130, 160], [0.5 - 1e-9, 0.6, 0.7 + 1e-9])
    found = compare(CELL, stored, tables([rounds], [accuracy], status))
    assert [number.agrees for number in found] == agrees


@pytest.mark.parametrize(("rounds", "agrees"), [(120, True), (121, False), (80, True), (79, False)])
def test_seeds_that_are_all_the_same_leave_room_for_one_look(rounds: int, agrees: bool) -> None:
    """Two looks are 20 rounds apart at most; accuracies may differ by 0.01."""
    found = compare(CELL, tables([100, 100], [0.0, 0.0]), tables([rounds], [0.02]))
    assert [number.agrees for number in found] == [True, agrees, False]


def test_a_backdoor_is_run_beside_scratch(done: Path, tmp_path: Path) -> None:
    scenario = "smoke_backdoor"
    cell = Wanted(scenario, "sifu", "target", 0, 1)
    rerun(cell, Machine(done / "config", done / "results", done, "cpu"), tmp_path)
    assert set(read_tables(tmp_path).cells["variant"]) == {"scratch", "sifu"}
