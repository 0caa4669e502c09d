"""The command line: stages by hand, and bad input as one sentence with a non-zero exit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from sifu.__main__ import main
from sifu.schemas import CELLS, CURVES, PARTITION, SENSITIVITY
from sifu.stages import train as train_stage
from sifu.store import read_segment, read_stamp, read_table
from tests.conftest import REPO

SCENARIOS = ["--scenarios", str(REPO / "config" / "scenarios.yaml")]


def stage(name: str, folder: Path, block: str, *more: str, scenario: str = "smoke") -> int:
    out = folder / name / block
    return main([name, "--scenario", scenario, "--block", block, *SCENARIOS, "--out", str(out), *more])


def trained(folder: Path, block: str, scenario: str = "smoke") -> Path:
    assert stage("partition", folder, block, scenario=scenario) == 0
    partition = folder / "partition" / block / "partition.parquet"
    assert stage("train", folder, block, "--partition", str(partition), "--device", "cpu", scenario=scenario) == 0
    return folder / "train" / block


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("block"), "s000-002")


def test_tables_of_the_train_stage(block: Path) -> None:
    cells = read_table(block / "cells.parquet", CELLS)
    curves = read_table(block / "curves.parquet", CURVES)
    sensitivity = read_table(block / "sensitivity.parquet", SENSITIVITY)
    segment = read_segment(block / "history.safetensors")
    assert cells["seed"].tolist() == [0, 1, 2]
    assert cells["rounds"].tolist() == segment.rounds.tolist()
    assert (cells["client_steps"] == cells["rounds"] * 10 * 5).all()  # 10 clients, 5 steps
    assert (cells["comm_floats"] == cells["rounds"] * 10 * 2 * 7850).all()
    assert curves.groupby("seed")["round"].max().tolist() == cells["rounds"].tolist()
    assert curves["forget_accuracy"].isna().all()
    assert sensitivity.groupby("seed").size().tolist() == (cells["rounds"] * 10).tolist()
    assert (sensitivity["increment"] > 0).all()
    for _, group in sensitivity.groupby(["seed", "client"]):
        assert group["psi"].tolist() == pytest.approx(group["increment"].cumsum().tolist())  # B = 1: a running sum
    # equal clients, p = 1/20: the odds are 1/19
    assert sensitivity["increment"].to_numpy() == pytest.approx(sensitivity["distance"].to_numpy() / 19, rel=1e-6)


def test_a_seed_is_the_same_in_any_block(block: Path, tmp_path: Path) -> None:
    alone = trained(tmp_path, "s001-001")
    for file, table in (("cells", CELLS), ("curves", CURVES), ("sensitivity", SENSITIVITY)):
        among = read_table(block / f"{file}.parquet", table).query("seed == 1").reset_index(drop=True)
        pd.testing.assert_frame_equal(read_table(alone / f"{file}.parquet", table), among)
    one, many = read_segment(alone / "history.safetensors"), read_segment(block / "history.safetensors")
    assert torch.equal(one.final[0], many.final[1])


def test_running_again_gives_the_same_bytes(block: Path, tmp_path: Path) -> None:
    again = trained(tmp_path, "s000-002")
    for file in ("cells.parquet", "curves.parquet", "sensitivity.parquet", "history.safetensors"):
        assert (block / file).read_bytes() == (again / file).read_bytes(), file


def test_a_stored_history_replays_exactly(block: Path, tmp_path: Path) -> None:
    """Hours later, in another process: from the files alone to the weights of the last round."""
    from sifu.config import load_scenario

    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", tmp_path)
    partition = block.parent.parent / "partition" / "s000-002" / "partition.parquet"
    engine = train_stage.build_engine(
        "smoke", scenario, range(3), partition, data_root=tmp_path, device=torch.device("cpu"), threads=1
    )
    segment = read_segment(block / "history.safetensors")
    assert torch.equal(engine.replay(segment, segment.rounds), segment.final)


def test_provenance_of_a_table(block: Path) -> None:
    stamp = read_stamp(block / "cells.parquet")
    assert stamp["stage"] == "train"
    settings = json.loads(stamp["settings"])
    assert settings["dataset"]["source"] == "embedded"
    assert "requests" not in settings
    assert stamp["torch"] == torch.__version__


def test_partition_that_had_to_move_examples_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """10 clients x 500 of the 5,000 digits at Dirichlet(1): all are needed, so every class runs out."""
    scenarios = tmp_path / "scenarios.yaml"
    text = (REPO / "config" / "scenarios.yaml").read_text()
    start = text.index("smoke_cnn:")
    scenarios.write_text(text[start : text.index("\nmnist:")].replace("examples: 20, alpha", "examples: 500, alpha"))
    arguments = ["partition", "--scenario", "smoke_cnn", "--block", "s000-000", "--scenarios", str(scenarios)]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "a class ran out" in capsys.readouterr().err
    assert json.loads(read_stamp(tmp_path / "partition.parquet")["notes"])["moved"]["0"] > 0
    assert len(read_table(tmp_path / "partition.parquet", PARTITION)) == 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["partition", "--scenario", "smok", "--block", "s000-000"], "scenarios: 'smok' is refused; allowed: one of"),
        (["partition", "--scenario", "smoke", "--block", "0-1"], "block: '0-1' is refused; allowed: a name like s000"),
        (
            ["partition", "--scenario", "celeba", "--block", "s000-000", "--data-root", "/none"],
            "dataset celeba is missing",
        ),
        (["train", "--scenario", "smoke", "--block", "s000-000", "--partition", "/none"], "/none does not exist: run"),
        (["train", "--scenario", "smoke", "--block", "s000-000", "--device", "cuda"], "torch sees no CUDA device"),
        (["train", "--scenario", "smoke", "--block", "s000-000", "--threads", "0"], "--threads: 0 is refused"),
        (["bench", "--scenarios", "nothing"], "--scenarios: 'nothing' is refused; allowed: one of mnist_embedded"),
        (["bench", "--seeds", "0"], "--seeds: 0 is refused; allowed: 1 or more"),
        (["summary", "--config", "/none.yaml"], "cannot read /none.yaml: No such file"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    more = SCENARIOS if arguments[0] in ("partition", "train") else []
    assert main(arguments + more) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert words in lines[0]


def test_a_partition_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage("partition", tmp_path, "s000-000", scenario="smoke_cnn")
    partition = str(tmp_path / "partition" / "s000-000" / "partition.parquet")
    assert stage("train", tmp_path, "s000-000", "--partition", partition) == 2
    assert "is not a partition of scenario smoke" in capsys.readouterr().err
    assert stage("train", tmp_path, "s000-000", "--out", partition) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_as_a_program() -> None:
    run = [sys.executable, "-m", "sifu"]
    helped = subprocess.run([*run, "--help"], capture_output=True, text=True, cwd=REPO, check=True).stdout
    for command in ("partition", "train", "summary", "bench", "docs"):
        assert command in helped
    bad = subprocess.run([*run, "train", "--scenario", "x", "--block", "y"], capture_output=True, text=True, cwd=REPO)
    assert bad.returncode == 2
    assert "Traceback" not in bad.stderr


def test_help_and_config_need_no_torch() -> None:
    """Parsing the Snakefile, once for every cluster job, must stay cheap."""
    code = (
        "import sys; import sifu.__main__, sifu.config, sifu.paths, sifu.stages, sifu.codehash; "
        "print([name for name in ('torch', 'pandas', 'numpy', 'pyarrow', 'torchvision') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPO, check=True)
    assert result.stdout.strip() == "[]"


def test_the_package_does_not_know_snakemake() -> None:
    for path in (REPO / "sifu").rglob("*.py"):
        assert "import snakemake" not in path.read_text()
        assert "from snakemake" not in path.read_text()


def test_summary_prints_a_row_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"
    for name in ("partition", "train"):
        (results / name / "smoke").mkdir(parents=True)
    trained_folder = trained(tmp_path, "s000-001")
    trained_folder.rename(results / "train" / "smoke" / "s000-001")
    config = tmp_path / "config.yaml"
    config.write_text(f"scenarios: [smoke]\nresults: {results}\nnum_seeds: 2\n")
    assert main(["summary", "--config", str(config)]) == 0
    assert "smoke" in capsys.readouterr().out
    config.write_text(f"scenarios: [smoke]\nresults: {tmp_path / 'empty'}\n")
    assert main(["summary", "--config", str(config)]) == 2
    assert "no results of this config under" in capsys.readouterr().err
