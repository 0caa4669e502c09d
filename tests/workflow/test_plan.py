"""What the Snakefile asks before any job: what is planned, left out or refused. In one process, without Snakemake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sifu.errors import SifuError
from sifu.plan.command_line import is_dry
from sifu.plan.load import read_yaml
from sifu.plan.workflow import WorkflowPlan, load_workflow
from tests.conftest import REPO


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without results and without datasets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIFU_DATA_ROOT", str(tmp_path / "none"))


def planned(config: str = "config", *, nodes: int | None = None, dry: bool = False, **changes: Any) -> WorkflowPlan:
    """The plan of a config with some keys from the command line; `nodes`: jobs at once on a cluster."""
    path = REPO / "config" / f"{config}.yaml"
    raw = read_yaml(path) | changes
    return load_workflow(raw, REPO, [path], remote=False, nodes=nodes, cores=None, main=True, dry=dry)


def counts(plan: WorkflowPlan) -> dict[str, int]:
    return {stage: len(jobs) for stage, jobs in plan.targets.suite.jobs.items() if jobs}


def test_the_jobs_of_the_whole_config() -> None:
    """4 scenarios with 7, 3, 3 and 2 variants and one block; what searches need on other blocks is not among them.

    Two scenarios have several certificates to compare with the run without the clients.
    """
    assert counts(planned("whole")) == {
        **dict.fromkeys(("partition", "train", "verify", "alpha"), 4),
        **{"unlearn": 15, "train_variant": 1, "search": 2, "scenario_search": 2, "counterfactual": 2},
        **dict.fromkeys(("sweep", "request_sets", "alpha_sweep", "null_space"), 1),
    }


def test_more_seeds_from_the_command_line() -> None:
    found = counts(planned(num_seeds=10, block_size=1, scenarios=["mnist_embedded"]))
    assert (found["train"], found["unlearn"], found["train_variant"]) == (10, 130, 20)  # 13 variants, 2 train


@pytest.mark.parametrize("config", ["mnist", "paper"])
def test_a_run_without_its_datasets_is_refused(config: str) -> None:
    with pytest.raises(SifuError, match="dataset mnist is missing: looked for"):
        planned(config, missing_data="refuse")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sedes": 5}, "sedes: 5 is refused; allowed: only the keys scenarios"),
        ({"num_seeds": -1}, "num_seeds: -1 is refused; allowed: 1 to 100000"),
        ({"scenarios": ["mnist"]}, "scenarios.mnist: dataset mnist is missing: looked for"),
        ({"device": "gpu"}, r"device: 'gpu' is refused \(did you mean cuda\?\); allowed: auto \| cpu \| cuda"),
        ({"block_size": None, "nodes": 4}, "block_size: null is refused on a cluster; allowed: a number of seeds"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SifuError, match=words):
        planned(**changes)


def test_a_dry_run_needs_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the login node of a cluster, whose nodes have one."""
    monkeypatch.setattr("sifu.config.blocks.shutil.which", lambda name: None)
    monkeypatch.setattr("sifu.config.blocks._GPU_FILES", ())
    with pytest.raises(SifuError, match="no GPU is seen on this machine"):
        planned("smoke", device="cuda")
    assert planned("smoke", device="cuda", dry=True).gpu == 1


@pytest.mark.parametrize("word", ["-n", "--dry-run", "--dryrun", "-np"])
def test_a_dry_run_is_one_by_its_options(word: str) -> None:
    assert is_dry(["--cores", "2", word])
    assert not is_dry(["--cores", "2", "--nolock", "results/a-n", "-k"])


def test_a_key_written_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text((REPO / "config" / "smoke.yaml").read_text() + "num_seeds: 9\n")
    with pytest.raises(SifuError, match="the key num_seeds is given twice, in lines "):
        load_workflow({}, REPO, [path], remote=False, nodes=None, cores=None, main=True)


def test_published_tables_are_not_run_again_without_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "results/published holds published tables without their trainings"
    folder = tmp_path / "results" / "published"
    training = folder / "train" / "mnist_embedded" / "s000-003"
    training.mkdir(parents=True)
    planned(results="results/published")
    assert words not in capsys.readouterr().err
    (folder / "manifest.json").write_text("{}")
    planned(results="results/published")
    assert words in capsys.readouterr().err
    (training / "history.safetensors").write_text("")
    planned(results="results/published")
    assert words not in capsys.readouterr().err


def test_what_a_reader_types_to_make_a_file_again() -> None:
    assert planned("smoke").command == "snakemake --cores 4 --configfile config/smoke.yaml"
