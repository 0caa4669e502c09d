"""The manifest of a small finished run: every job, its settings, its seeds and its time."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from sifu.cli.main import main
from sifu.replication.manifest import NOT_RECORDED, counted_models, jobs_of
from sifu.replication.published import REPLICATION, read_manifest
from sifu.store.experiment_schemas import SWEEP
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.timing import JobTime, busy_seconds, read_job_time, timed
from tests.conftest import REPO
from tests.small_run import BLOCK, VARIANTS
from tests.unit.stages.tiny_oracles import tiny_oracles


def manifest(root: Path) -> dict[str, object]:
    with contextlib.chdir(root):
        assert main(["manifest", "--config", str(root / "config" / "small.yaml")]) == 0
    found: dict[str, object] = json.loads((root / "results" / "manifest.json").read_text())
    return found


def test_a_manifest_names_every_job(small_run: Path) -> None:
    found = manifest(small_run)
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


def test_a_manifest_has_the_seeds_of_the_tables(small_run: Path, tmp_path: Path) -> None:
    """Side experiments take only some seeds of a block; the null space is of no scenario, and has no time."""
    shutil.copytree(small_run, tmp_path / "copy")
    results = tmp_path / "copy" / "results"
    ended = {
        "status": "done",
        "rounds": 1,
        "counted_rounds": 1,
        "client_steps": 1,
        "cut_round": 0,
        "retain_accuracy": 1.0,
        "forget_accuracy": 0.0,
    }
    key = {"scenario": "smoke", "variant": "sifu", "sigma": 0.1, "seed": 0, "request": 1}
    stamp = provenance("sweep", {"sigma": 0.1}, "", "cpu")
    rows = pd.DataFrame([key | ended], columns=[column.name for column in SWEEP.columns])
    write_table(results / "sweep" / "smoke" / "sifu" / BLOCK / "sweep.parquet", SWEEP, rows, stamp)
    assert main(["null-space", "--results", str(results)]) == 0
    blocks = pd.DataFrame(manifest(tmp_path / "copy")["blocks"]).set_index("stage")
    assert blocks.loc["sweep", "seeds"] == [0, 0]
    assert blocks.loc["null_space", ["scenario", "variant"]].tolist() == ["", ""]


def test_the_hash_is_that_of_the_settings(small_run: Path, tmp_path: Path) -> None:
    before = manifest(small_run)["settings_hash"]
    shutil.copytree(small_run, tmp_path / "copy")
    config = tmp_path / "copy" / "config"
    text = (config / "small.yaml").read_text()
    assert manifest(tmp_path / "copy")["settings_hash"] == before, "the place of the results counts"
    (config / "small.yaml").write_text(text.replace("num_seeds: 2", "num_seeds: 3"))
    assert manifest(tmp_path / "copy")["settings_hash"] != before


def test_what_was_stored_with_other_settings_is_said(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(small_run, tmp_path / "copy")
    manifest(tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    asked = ["missing", "--config", "config/small.yaml"]
    assert main(asked) == 0
    assert "other settings" not in capsys.readouterr().err
    scenarios = tmp_path / "copy" / "config" / "scenarios.yaml"
    before = scenarios.read_text()
    scenarios.write_text(before.replace("max_rounds: 40}", "max_rounds: 41}", 1))
    assert scenarios.read_text() != before
    assert main(asked) == 0
    said = capsys.readouterr().err
    assert "stored results are of other settings, and not named below: " in said
    assert "max_rounds" in said


def test_a_run_without_results_has_no_manifest(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.chdir(tmp_path):
        assert main(["manifest", "--config", str(small_run / "config" / "small.yaml")]) == 2
    assert "nothing has been unlearned under" in capsys.readouterr().err
    assert not list(tmp_path.rglob("manifest.json"))


def test_the_time_of_a_job(tmp_path: Path) -> None:
    assert read_job_time(tmp_path).seconds is None
    (tmp_path / "benchmark.tsv").write_text("s\th:m:s\n4.5\t0:00:04\n6.5\t0:00:06\n")
    assert read_job_time(tmp_path).seconds == 6.5, "Snakemake's last run counts"
    with timed(tmp_path):
        pass
    found = read_job_time(tmp_path).seconds
    assert found is not None
    assert found < 1, "our own clock comes first"
    (tmp_path / "time.json").write_text("{")
    assert read_job_time(tmp_path).seconds == 6.5


def test_jobs_at_once_count_once() -> None:
    """0 to 10 and 5 to 15 are 15 seconds, 30 to 35 are 5; 3 more began nobody knows when: 23. 31 to 32 adds nothing."""
    spells = [JobTime(30.0, 5.0), JobTime(0.0, 10.0), JobTime(None, 3.0), JobTime(5.0, 10.0), JobTime(31.0, 1.0)]
    assert busy_seconds(spells) == 23
    assert busy_seconds([JobTime(None, None)]) == 0


def test_a_job_that_fails_leaves_no_time(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), timed(tmp_path):
        raise ValueError("broken")
    assert not list(tmp_path.iterdir())


def test_models_of_oracles_and_atlas_are_counted_with_their_seconds() -> None:
    timed = {"stage": "oracles", "device": "gpu", "began": None}
    blocks = [timed | {"models": 40, "seconds": 2.5}, timed | {"models": 20, "seconds": 1.0}]
    other = [{"stage": "train", "device": "cpu", "began": None, "seconds": 9.0}]
    left_out = [{"stage": "atlas", "device": "gpu", "began": None, "models": 22, "seconds": 4.0}]
    oracles = {"oracles": {"models": 60, "seconds": {"gpu": 3.5}}}
    assert counted_models(blocks + other) == oracles
    assert counted_models(blocks + left_out) == oracles | {"atlas": {"models": 22, "seconds": {"gpu": 4.0}}}
    assert counted_models(other) == {}
    lost = timed | {"models": 5, "seconds": None}
    assert counted_models([blocks[0], lost])["oracles"] == {
        "models": 45,
        "seconds": {"gpu": 2.5},
        "time": "not recorded for 5 models",
    }


def test_the_jobs_of_oracles_are_named_where_their_margins_were_not_kept(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The table that was made of them says how many models they had, their times are kept."""
    results = tmp_path / "results"
    shutil.copytree(tiny_oracles(tmp_path_factory).root / "results", results)
    kept = [job for job in jobs_of(results) if job["stage"] == "oracles"]
    assert [job["seeds"] for job in kept] == [[0, 6], [0, 11], [7, 11]]
    for margins in results.glob("oracles/*/*/margins.parquet"):
        margins.unlink()
    (found,) = [job for job in jobs_of(results) if job["stage"] == "oracles"]  # the table is of this block alone
    same = ("scenario", "seeds", "models", "device", "began", "seconds")
    assert {key: found[key] for key in same} == {key: kept[1][key] for key in same}


def test_models_are_counted_where_their_blocks_were_not_noted(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Twelve seeds of both worlds after both requests, of three variants and the original: of a table of an earlier
    version, whose stamp does not say so.
    """
    made, results = tiny_oracles(tmp_path_factory), tmp_path / "results"
    table = made.file("forgetting", "s000-011", "forgetting")
    rows = read_table(table, FORGETTING)
    own = results / table.relative_to(made.root / "results")
    write_table(own, FORGETTING, rows, provenance("forgetting", {}, "", "gpu"))
    found = jobs_of(results)
    assert [job["stage"] for job in found] == ["forgetting", "oracles"]
    noted = json.loads(read_stamp(table)["notes"])["oracles"]
    models = 12 * 2 * 2 * rows["variant"].nunique()
    assert sum(noted.values()) == models, "as the blocks themselves say"
    assert {key: found[1][key] for key in ("scenario", "seeds", "models", "device", "seconds")} == {
        "scenario": rows["scenario"].iloc[0],
        "seeds": [0, 11],
        "models": models,
        "device": "gpu",
        "seconds": None,
    }
    assert counted_models(found) == {"oracles": {"models": models, "seconds": {}, "time": "not recorded"}}


def test_the_replication_names_the_models_of_its_twin_tests() -> None:
    """How many they are, and how long they took, or that it was not recorded."""
    found = read_manifest(REPO / REPLICATION)
    asked = {block["scenario"] for block in found["blocks"] if block["stage"] == "forgetting"}
    oracles = [block for block in found["blocks"] if block["stage"] == "oracles"]
    assert asked == {block["scenario"] for block in oracles if block["models"] > 0}
    assert asked, "the replication has a twin test"
    assert found["oracles"]["models"] == sum(block["models"] for block in oracles)
    assert found["oracles"]["seconds"] or found["oracles"]["time"] == NOT_RECORDED


def test_files_that_are_no_tables_count_with_their_time(small_run: Path, tmp_path: Path) -> None:
    """The trainings without some clients are too large to be kept: of a published run only their time is left."""
    shutil.copytree(small_run, tmp_path / "copy")
    results = tmp_path / "copy" / "results"
    folder = results / "counterfactual" / "smoke" / BLOCK
    folder.mkdir(parents=True)
    (folder / "counterfactual.safetensors").write_bytes(b"no table")
    with timed(folder):
        pass
    before, after = jobs_of(small_run / "results"), jobs_of(results)
    (added,) = [job for job in after if job["stage"] == "counterfactual"]
    assert [job for job in after if job is not added] == before
    assert added["seconds"] == read_job_time(folder).seconds
    assert added["seconds"] is not None
    (training,) = [job for job in before if (job["stage"], job["variant"]) == ("train", "")]
    assert {name: added[name] for name in ("seeds", "commit", "device")} == {
        name: training[name] for name in ("seeds", "commit", "device")
    }
