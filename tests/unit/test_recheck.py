"""A small finished run: its manifest, and its cells run again."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch

from sifu.__main__ import main
from sifu.cell import Wanted
from sifu.claims.tables import read_tables
from sifu.docs.blocks import filled
from sifu.docs.published import MNIST, REPLICATION, quoted
from sifu.provenance import provenance
from sifu.recheck.agreement import compare
from sifu.recheck.command import made_with
from sifu.recheck.pace import Pace, pace_of
from sifu.recheck.rerun import Machine, rerun
from sifu.recheck.sample import sample_cells
from sifu.recheck.stored import named_cell, read_stored
from sifu.schemas import CELLS, SWEEP
from sifu.seeds import block_seeds
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
    settings = found["block_settings"]
    assert isinstance(settings, dict)
    sifu = blocks[(blocks["stage"] == "unlearn") & (blocks["variant"] == "sifu")]["settings"].item()
    assert settings[sifu]["method"]["name"] == "sifu", "as it was run, whatever the config says today"
    assert set(blocks["settings"]) == set(settings)


def test_a_manifest_has_the_seeds_of_the_tables(done: Path, tmp_path: Path) -> None:
    """Side experiments take only some seeds of a block; the null space is of no scenario, and has no time."""
    shutil.copytree(done, tmp_path / "copy")
    results = tmp_path / "copy" / "results"
    ended = {
        "status": "done",
        "rounds": 1,
        "client_steps": 1,
        "cut_round": 0,
        "retain_accuracy": 1.0,
        "forget_accuracy": 0.0,
    }
    key = {"scenario": "smoke", "variant": "sifu", "sigma": 0.1, "seed": 0, "request": 1}
    stamp = provenance("sweep", {"sigma": 0.1}, "", "cpu")
    write_table(results / "sweep" / "smoke" / BLOCK / "sweep.parquet", SWEEP, pd.DataFrame([key | ended]), stamp)
    assert main(["null-space", "--results", str(results)]) == 0
    blocks = pd.DataFrame(manifest(tmp_path / "copy")["blocks"]).set_index("stage")
    assert blocks.loc["sweep", "seeds"] == [0, 0]
    assert blocks.loc["null_space", ["scenario", "variant"]].tolist() == ["", ""]


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
    printed, said = capsys.readouterr()
    assert "run again, beside those of results: 2 same, 0 close, 0 within seeds, 0 differs" in printed
    assert said.count(": same") == 2, "each as soon as it is known"
    assert printed.count("15 of 15 numbers") == 2, (
        "3 requests: status, rounds, 3 accuracies (the digits have no test set)"
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_named_cell_is_the_same_to_the_digit(done: Path, tmp_path: Path, variant: str) -> None:
    """With a training of its own, too: the search is the stored one."""
    cell = Wanted("smoke", variant, "target", 1, 3)
    rerun(cell, Machine(done / "config", done / "results", done, "cpu"), tmp_path)
    stored, again = (read_tables(folder) for folder in (done / "results", tmp_path))
    found = compare(cell, stored, again, elsewhere=False)
    quantities = ["status", "rounds", *(f"accuracy, {subset}" for subset in ("forget", "forgotten", "retain"))]
    assert [(number.request, number.quantity) for number in found] == [(u, q) for u in (1, 2, 3) for q in quantities]
    assert all(number.stored == number.again for number in found)
    assert set(again.cells["stop"]) == {"target"}, "other limits were run, too"


def test_a_budget_is_run_under_its_own_rule(done: Path, tmp_path: Path) -> None:
    cell = Wanted("smoke", "sifu", "budget_50", 0, 1)
    rerun(cell, Machine(done / "config", done / "results", done, "cpu"), tmp_path)
    found = compare(cell, read_tables(done / "results"), read_tables(tmp_path), elsewhere=False)
    assert len(found) == 3 * 5
    assert all(number.stored == number.again for number in found)
    assert named_cell("smoke/sifu/0/budget_50", read_stored(done / "results")) == cell._replace(request=3)
    assert named_cell("smoke/sifu/0", read_stored(done / "results")).stop == "target"


def tampered(done: Path, root: Path, device: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Path:
    """The same run with other cells of SIFU, as if they had been stored by a `device`."""
    shutil.copytree(done, root)
    path = root / "results" / "unlearn" / "smoke" / "sifu" / BLOCK / "cells.parquet"
    write_table(path, CELLS, change(read_table(path, CELLS)), provenance("unlearn", {}, "", device))
    return root


def shifted(cells: pd.DataFrame) -> pd.DataFrame:
    """Seed 0 took 30 rounds more than it did; seed 1 as many fewer, so that the seeds have their spread."""
    return cells.assign(rounds=cells["rounds"] + cells["seed"].map({0: 30, 1: -30}))


@pytest.mark.parametrize(
    ("device", "code", "counts"),
    [
        ("cpu", 1, "0 same, 0 close, 0 within seeds, 1 differs"),
        ("another", 0, "0 same, 0 close, 1 within seeds, 0 differs"),
    ],
)
def test_only_another_device_may_be_as_far_as_another_seed(
    done: Path, tmp_path: Path, device: str, code: int, counts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tampered(done, tmp_path / "other", device, shifted)
    assert verify(root, "--cell", "smoke/sifu/0") == code
    printed = capsys.readouterr().out
    assert f"run again, beside those of results: {counts}" in printed
    assert ("no closer than another seed would be" in printed) == (code == 0), "what is weak says so"


def test_a_cell_that_differs_is_noticed_on_any_device(
    done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tampered(done, tmp_path / "other", "another", lambda cells: cells.assign(rounds=cells["rounds"] + 500))
    assert verify(root, "--cell", "smoke/sifu/0") == 1
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
    """A second a round: cells cost their rounds, and a limit leaves out what is above."""
    stored = read_stored(done / "results")
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


def own(cell: Wanted) -> range:
    return range(cell.seed, cell.seed + 1)


def rounds_in(folder: Path, seed: int) -> int:
    """All rounds of a seed that lie in a folder, trainings and requests."""
    stored = read_stored(folder)
    return sum(
        int(table.loc[table["seed"] == seed, "rounds"].sum()) for table in (stored.training, stored.tables.cells)
    )


@pytest.mark.parametrize(("variant", "stop"), [("sifu", "target"), ("sifu", "budget_50"), ("dp_smoke", "budget_50")])
def test_what_a_cell_costs_is_what_is_run_for_it(done: Path, tmp_path: Path, variant: str, stop: str) -> None:
    """On the same machine a re-run takes the rounds that are stored: both trainings of DP, and the target beside a
    budget.
    """
    cell = Wanted("smoke", variant, stop, 1, 1)
    machine = Machine(done / "config", done / "results", done, "cpu")
    rerun(cell, machine, tmp_path)
    beside = pace_of(machine.config, cell.scenario, machine.data_root).beside
    assert read_stored(done / "results").rounds(cell, own(cell), beside) == rounds_in(tmp_path, 1)


def test_a_cell_can_be_run_again_in_its_block(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a GPU does, where rounding depends on who is run together; on a CPU the cell is the same either way."""
    cell = Wanted("smoke", "sifu", "target", 1, 3)
    rerun(cell, Machine(done / "config", done / "results", done, "cpu", seeds="block"), tmp_path)
    assert {path.parent.name for path in tmp_path.glob("unlearn/*/*/*/cells.parquet")} == {BLOCK}
    assert verify(done, "--cell", "smoke/sifu/1", "--seeds", "block") == 0
    assert "2 same, 0 close, 0 within seeds, 0 differs" in capsys.readouterr().out, "all that were run are compared"


@pytest.mark.parametrize(
    ("seeds", "kind", "together"),
    [("auto", "cpu", False), ("auto", "cuda", True), ("own", "cuda", False), ("block", "cpu", True)],
)
def test_a_gpu_runs_the_block(seeds: str, kind: str, together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sifu.recheck.rerun.choose_device", lambda _: torch.device(kind))
    assert Machine(Path(), Path(), Path(), seeds=seeds).together is together


@pytest.mark.parametrize(("device", "other"), [("cpu", False), ("NVIDIA H200, tf32", True)])
def test_rounding_depends_on_the_block_on_a_gpu(done: Path, tmp_path: Path, device: str, other: bool) -> None:
    cells = read_table(done / "results" / "unlearn" / "smoke" / "sifu" / BLOCK / "cells.parquet", CELLS)
    for block in (BLOCK, "s001-001"):
        path = tmp_path / block / "unlearn" / "smoke" / "sifu" / block / "cells.parquet"
        write_table(path, CELLS, cells[cells["seed"].isin(block_seeds(block))], provenance("unlearn", {}, "", device))
    cell = Wanted("smoke", "sifu", "target", 1, 1)
    one, two = (made_with(cell, tmp_path / block) for block in (BLOCK, "s001-001"))
    assert (one != two) is other


def test_a_backdoor_is_run_beside_scratch(done: Path, tmp_path: Path) -> None:
    scenario = "smoke_backdoor"
    cell = Wanted(scenario, "sifu", "target", 0, 1)
    rerun(cell, Machine(done / "config", done / "results", done, "cpu"), tmp_path)
    assert set(read_tables(tmp_path).cells["variant"]) == {"scratch", "sifu"}
    assert pace_of(done / "config", scenario, done).beside == ("scratch",)
    assert read_stored(tmp_path).rounds(cell, own(cell), ("scratch",)) == rounds_in(tmp_path, 0)
