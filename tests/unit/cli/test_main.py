"""The command line: stages by hand, and bad input as one sentence with a non-zero exit."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from sifu.catalog.methods import METHODS
from sifu.cli.main import main, parser
from sifu.federation.segment_file import read_history
from sifu.plan.load import read_yaml
from sifu.report.summary import _print_headline
from sifu.report.tables import HEADLINE
from sifu.stages.block import Block
from sifu.store.parquet import read_stamp, read_table
from sifu.store.schemas import CELLS, CURVES, PARTITION, SENSITIVITY
from tests.conftest import REPO, one_sentence

CONFIG = ["--config", str(REPO / "config")]


def stage(name: str, results: Path, block: str, *more: str, scenario: str = "smoke") -> int:
    return main([name, "--scenario", scenario, "--block", block, *CONFIG, "--results", str(results), *more])


def trained(results: Path, block: str, scenario: str = "smoke") -> Path:
    assert stage("partition", results, block, scenario=scenario) == 0
    assert stage("train", results, block, "--device", "cpu", scenario=scenario) == 0
    return results / "train" / scenario / block


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("block"), "s000-002")


def test_tables_of_the_train_stage(block: Path) -> None:
    cells = read_table(block / "cells.parquet", CELLS)
    curves = read_table(block / "curves.parquet", CURVES)
    sensitivity = read_table(block / "sensitivity.parquet", SENSITIVITY)
    segment = read_history(block / "history.safetensors").segment
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
    one, many = read_history(alone / "history.safetensors").segment, read_history(block / "history.safetensors").segment
    assert torch.equal(one.final[0], many.final[1])


def test_running_again_gives_the_same_bytes(block: Path, tmp_path: Path) -> None:
    again = trained(tmp_path, "s000-002")
    for file in ("cells.parquet", "curves.parquet", "sensitivity.parquet", "history.safetensors"):
        assert (block / file).read_bytes() == (again / file).read_bytes(), file


def test_a_stored_history_replays_exactly(block: Path, tmp_path: Path) -> None:
    """Hours later, in another process: from the files alone to the weights of the last round."""
    from sifu.plan.load import load_scenario

    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", tmp_path)
    partition = block.parents[2] / "partition" / "smoke" / "s000-002" / "partition.parquet"
    engine = Block("smoke", scenario, range(3), partition, tmp_path, threads=1).engine()
    segment = read_history(block / "history.safetensors").segment
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
    text = (REPO / "config" / "scenarios.yaml").read_text()
    start = text.index("smoke_cnn:")
    changed = text[start : text.index("\nmnist:")].replace("examples: 20, alpha", "examples: 500, alpha")
    (tmp_path / "scenarios.yaml").write_text(changed)
    arguments = ["partition", "--scenario", "smoke_cnn", "--block", "s000-000", "--config", str(tmp_path)]
    assert main([*arguments, "--results", str(tmp_path)]) == 0
    assert "a class ran out" in capsys.readouterr().err
    table = tmp_path / "partition" / "smoke_cnn" / "s000-000" / "partition.parquet"
    assert json.loads(read_stamp(table)["notes"])["moved"]["0"] > 0
    assert len(read_table(table, PARTITION)) == 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["partition", "--scenario", "smok", "--block", "s000-000"], "(did you mean smoke?)"),
        (["partition", "--scenario", "smoke", "--block", "0-1"], "block: '0-1' is refused; allowed: a name like s000"),
        (
            ["partition", "--scenario", "celeba", "--block", "s000-000", "--data-root", "/none"],
            "dataset celeba is missing",
        ),
        (
            ["train", "--scenario", "smoke", "--block", "s000-000", "--results", "/none"],
            "partition.parquet does not exist",
        ),
        (["train", "--scenario", "smoke", "--block", "s000-000", "--device", "cuda"], "torch sees no CUDA device"),
        (["train", "--scenario", "smoke", "--block", "s000-000", "--threads", "0"], "--threads: 0 is refused"),
        (
            ["train", "--scenario", "smoke", "--block", "s000-000", "--checkpoint-seconds", "nan"],
            "--checkpoint-seconds: nan is refused; allowed: 0 or more",
        ),
        (["unlearn", "--scenario", "smoke", "--block", "s000-000", "--variant", "sfu"], "(did you mean sifu?)"),
        (
            ["unlearn", "--scenario", "smoke", "--block", "s000-000", "--variant", "dp_fedavg"],
            "(dp_fedavg is a method: give it a line in variants.yaml, `dp_fedavg: {label: dp_fedavg, method: ",
        ),
        (["figure", "overveiw", "--config", str(REPO / "config" / "smoke.yaml")], "(did you mean overview?)"),
        (["certify", "--epsilon", "-1", "--delta", "0.1", "--sigma", "1"], "epsilon: -1.0 is refused"),
        (["certify", "--epsilon", "1", "--delta", "0.1", "--sigma", "inf"], "sigma: inf is refused"),
        (["certify", "--epsilon", "1", "--delta", "0.1", "--sigma", "1", "--num-clients", "1"], "--num-clients"),
        (
            ["certify", "--epsilon", "1", "--delta", "0.1", "--sigma", "1", "--num-clients", "9", "--beta", "0"],
            "--beta",
        ),
        (["atlas", "--seed", "-3"], "--seed: -3 is refused; allowed: 0 or more"),
        (["atlas", "--csv", "/nope/x.csv"], "--csv: '/nope/x.csv' is refused; allowed: a file in a folder that is"),
        (["atlas", "--csv", "/dev/null"], "--csv: '/dev/null' is refused"),
        (["audit-noise", "--delta", "0"], "delta: 0.0 is refused"),
        (["audit-noise", "--epsilon", "-1"], "epsilon: -1.0 is refused"),
        (["audit-noise", "--draws", "1"], "at least 100 draws"),
        (["audit-noise", "--noise", "nan"], "sigma: nan is refused"),
        (["audit", "--models", "5"], "--models: 5 is refused; allowed: 20 or more"),
        (["audit", "--variant", "sfu", "--config", str(REPO / "config" / "smoke.yaml")], "--variant: 'sfu' is refused"),
        (["audit", "--scenario", "smok", "--config", str(REPO / "config" / "smoke.yaml")], "(did you mean smoke?)"),
        (
            ["audit", "--request", "9", "--config", str(REPO / "config" / "smoke.yaml")],
            "error: --request: [9] is refused; allowed: numbers from 1 to",
        ),
        (["audit", "--client", "99", "--config", str(REPO / "config" / "smoke.yaml")], "client 99 does not exist"),
        (["report", "--plan", "none.json"], "No such file or directory: none.json"),
        (["bench", "--scenarios", "nothing"], "--scenarios: 'nothing' is refused; allowed: one of mnist_embedded"),
        (["bench", "--seeds", "0"], "--seeds: 0 is refused; allowed: 1 or more"),
        (["summary", "--config", "/none.yaml"], "cannot read /none.yaml: No such file"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    more = CONFIG if arguments[0] in ("partition", "train", "unlearn") else []
    assert main(arguments + more) == 2
    assert words in one_sentence(capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], "invalid choice: 'trian' (did you mean train?); allowed: run, cell, methods,"),
        ([], "the following arguments are required: COMMAND; see `python -m sifu --help`"),
        (["bench", "--device", "gpu"], "invalid choice: 'gpu' (did you mean cuda?); allowed: auto, cpu, cuda; see"),
        (["report", "--confg", "x"], "unrecognized arguments: --confg x (did you mean --config?)"),
        (["cell", "--seed", "one"], "argument --seed: invalid int value: 'one'; see `python -m sifu cell --help`"),
    ],
)
def test_a_misspelt_command_is_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert words in one_sentence(capsys)


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m sifu methods | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=REPO)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_partition_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage("partition", tmp_path, "s000-000", scenario="smoke_cnn")
    (tmp_path / "partition" / "smoke_cnn").rename(tmp_path / "partition" / "smoke")
    assert stage("train", tmp_path, "s000-000") == 2
    assert "holds rows of scenario smoke_cnn" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert stage("partition", tmp_path / "file", "s000-000") == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    helped = capsys.readouterr().out
    for command in ("partition", "train", "unlearn", "verify", "alpha", "report", "certify", "methods", "audit"):
        assert command in helped


def test_every_option_has_a_help() -> None:
    (commands,) = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    for name, one in commands.choices.items():
        assert [action.option_strings for action in one._actions if not action.help] == [], name


def test_as_a_program() -> None:
    command = [sys.executable, "-m", "sifu", "run", "--config", "/none.yaml"]
    bad = subprocess.run(command, capture_output=True, text=True, cwd=REPO)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "error: cannot read /none.yaml: No such file or directory\n"


def test_help_and_config_need_no_torch() -> None:
    """Parsing the Snakefile, once for every cluster job, must stay cheap."""
    code = (
        "import sys; import sifu.cli.main, sifu.plan.load, sifu.store.paths, sifu.plan.freshness, sifu.plan.code_hash; "
        "import sifu.report.methods, sifu.plan.model_check; from sifu.catalog.methods import METHODS; "
        "sifu.report.methods.method_rows(METHODS); "
        "print([name for name in ('torch', 'pandas', 'numpy', 'pyarrow', 'torchvision') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPO, check=True)
    assert result.stdout.strip() == "[]"


def test_the_package_does_not_know_snakemake() -> None:
    for path in (REPO / "sifu").rglob("*.py"):
        assert "import snakemake" not in path.read_text()
        assert "from snakemake" not in path.read_text()


def test_the_last_table_cuts_no_name_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every column of the headline, two scenarios whose names begin alike and the longest labels of the config."""
    titles = ["scenario", "method", "request", *dict.fromkeys(title for _, _, title in HEADLINE)]
    names = ("mnist_embedded", "mnist_embedded_backdoor")
    labels = [variant["label"] for variant in read_yaml(REPO / "config" / "variants.yaml").values()]
    rows = [[name, label, 1, "10 of 10", *["720,000 [1, 2]"] * (len(titles) - 4)] for name in names for label in labels]
    (tmp_path / "tables").mkdir()
    pd.DataFrame(rows, columns=titles).to_csv(tmp_path / "tables" / "headline.csv", index=False)
    _print_headline(tmp_path)
    shown = capsys.readouterr().out
    assert all(f"Unlearning in {name}, to" in shown for name in names), "rows of two scenarios can be told apart"
    assert "…" not in shown


def test_summary_prints_a_row_a_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trained(tmp_path, "s000-001")
    config = tmp_path / "config.yaml"
    config.write_text("scenarios: [smoke]\nvariants: [scratch]\nresults: .\nnum_seeds: 2\n")
    assert main(["summary", "--config", str(config)]) == 0
    assert "smoke" in capsys.readouterr().out
    config.write_text("scenarios: [smoke]\nvariants: [scratch]\nresults: empty\n")
    assert main(["summary", "--config", str(config)]) == 2
    assert "no results of this config under" in capsys.readouterr().err


def test_methods_are_listed_with_their_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in rows] == list(METHODS)
    by_name = {row["method"]: row for row in rows}
    assert by_name["sifu"]["reads"] == "models, scalars"
    assert by_name["sifu"]["non_convex"]
    assert not by_name["fine_tuning"]["convex"]
    assert main(["methods"]) == 0
    assert "exact_rollback" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"), [("{", "a file that holds JSON"), ("{}", "a JSON file with the keys results")]
)
def test_a_plan_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    assert main(["report", "--plan", str(tmp_path / "plan.json")]) == 2
    assert words in one_sentence(capsys)
