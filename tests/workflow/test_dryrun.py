"""The graph: what each config plans, and that nonsense is refused before any job."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from sifu.plan.stage_spec import STAGES
from tests.workflow.conftest import Checkout

ONCE = {"all": 1, "null_space": 1, "report": 1, "figure": 9, "page": 1}


def test_default_config(checkout: Checkout) -> None:
    """4 seeds in one block; 11, 7 and 7 variants, 2 with a search (on a block of its own) and a training."""
    plan = checkout.plan()
    blocks = {"partition": 4, "train": 3, "unlearn": 25, "verify": 3, "alpha": 3, "sweep": 1, "request_sets": 1}
    assert plan == ONCE | {"search": 2, "train_variant": 2, "alpha_sweep": 2} | blocks
    assert sum(plan.values()) <= 60


def test_smoke_config(checkout: Checkout) -> None:
    """A scenario with 3 variants, a block of 2 seeds; one variant has a search and its own training.

    A setting of the scenario is searched with the same seed that is not reported.
    """
    plan = checkout.plan("--configfile", "config/smoke.yaml")
    blocks = {"partition": 2, "train": 1, "unlearn": 3, "verify": 1, "alpha": 1, "sweep": 1, "request_sets": 1}
    assert plan == ONCE | {"search": 1, "scenario_search": 1, "train_variant": 1, "alpha_sweep": 1} | blocks


def test_whole_config(checkout: Checkout) -> None:
    """4 scenarios with 7, 3, 3 and 2 variants, a block of 2 seeds; one variant has a search and its own training.

    Another has a search that needs the scenario's training with the seed that is not reported; two settings of a
    scenario are searched, on another partition.
    """
    plan = checkout.plan("--configfile", "config/whole.yaml")
    blocks = {"partition": 6, "train": 5, "unlearn": 15, "verify": 4, "alpha": 4, "sweep": 1, "request_sets": 1}
    assert plan == ONCE | {"search": 2, "scenario_search": 2, "train_variant": 1, "alpha_sweep": 1} | blocks


def test_paper_config(checkout: Checkout, data_root: Path) -> None:
    """16 scenarios less the 3 of CelebA, which cannot be shipped; 10 seeds in one block."""
    result = checkout.snakemake("-n", "--configfile", "config/paper.yaml", data_root=data_root)
    assert result.returncode == 0, result.stderr
    there = (data_root / "celeba").exists()
    present, swept, searched = (16, 5, 6) if there else (13, 4, 5)  # marked scenarios take their dataset's searches
    plan = checkout.plan("--configfile", "config/paper.yaml", data_root=data_root)
    each = dict.fromkeys(("verify", "alpha"), present)
    # two variants of DP-FedAvg; `train` and `partition` also for the seeds of the searches
    marked = present - searched  # with 9 of the 15 variants, one of them a DP-FedAvg
    twice = dict.fromkeys(("partition", "train"), present + searched) | {"train_variant": 2 * searched + marked}
    searches = {"search": 5 * searched, "scenario_search": 6 if there else 4}
    sweeps = {"sweep": swept, "request_sets": swept, "alpha_sweep": 4 * swept}
    assert plan == ONCE | {"unlearn": 15 * searched + 9 * marked} | sweeps | each | twice | searches
    assert sum(plan.values()) < 1500
    output = result.stdout + result.stderr
    notice = "scenarios celeba, celeba_watermark, celeba_backdoor are left out: dataset celeba is missing"
    assert output.count("left out") == (0 if there else 1), "one sentence for all of them"
    assert (notice in output) == (not there)


def test_published_tables_are_not_run_again_without_a_word(checkout: Checkout) -> None:
    folder = checkout.root / "results" / "published"
    folder.mkdir(parents=True)
    arguments = ("-n", "--config", "results=results/published")
    assert "published tables" not in checkout.snakemake(*arguments).stderr
    (folder / "manifest.json").write_text("{}")
    assert "results/published holds published tables without their trainings" in checkout.snakemake(*arguments).stderr
    training = folder / "train" / "mnist_embedded" / "s000-003"
    training.mkdir(parents=True)
    (training / "history.safetensors").write_text("")
    assert "published tables" not in checkout.snakemake(*arguments).stderr
    shutil.rmtree(checkout.root / "results")  # others look whether they left one


def test_missing_data_can_end_the_run_instead(checkout: Checkout, tmp_path: Path) -> None:
    arguments = ("-n", "--configfile", "config/paper.yaml", "--config", "missing_data=refuse", "scenarios=[celeba]")
    result = checkout.snakemake(*arguments, data_root=tmp_path)
    assert result.returncode != 0
    assert "scenarios.celeba: dataset celeba is missing" in result.stdout + result.stderr


def test_more_seeds_from_the_command_line(checkout: Checkout) -> None:
    plan = checkout.plan("--config", "num_seeds=10", "block_size=1", "scenarios=[mnist_embedded]")
    assert plan["train"] == 10
    assert plan["unlearn"] == 110
    assert plan["search"] == 2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("sedes=5", "sedes: 5 is refused; allowed: only the keys scenarios"),
        ("num_seeds=-1", "num_seeds: -1 is refused; allowed: 1 to 100000"),
        ("scenarios=[mnist]", "scenarios.mnist: dataset mnist is missing: looked for"),
        ("sigma_sweep=None", "scenarios, variant, values, rounds, num_seeds, or null"),
    ],
)
def test_bad_settings_end_before_any_job(checkout: Checkout, setting: str, words: str) -> None:
    result = checkout.snakemake("--config", setting)
    output = result.stdout + result.stderr
    assert result.returncode != 0
    assert words in output
    assert "Traceback" not in output
    assert not (checkout.root / "results").exists()


def test_a_key_written_twice_is_refused(checkout: Checkout) -> None:
    text = (checkout.root / "config" / "smoke.yaml").read_text()
    (checkout.root / "twice.yaml").write_text(text + "num_seeds: 9\n")
    result = checkout.snakemake("-n", "--configfile", "twice.yaml")
    assert result.returncode != 0
    assert "Traceback" not in result.stdout + result.stderr
    assert "the key num_seeds is given twice, in lines " in result.stdout + result.stderr


def test_a_file_of_another_config_is_not_a_target(checkout: Checkout) -> None:
    result = checkout.snakemake("-n", "results/train/smoke/s000-001/cells.parquet")
    assert result.returncode != 0
    assert "Traceback" not in result.stdout + result.stderr


def test_names_with_spaces_are_quoted_also_in_another_folder(checkout: Checkout, tmp_path: Path) -> None:
    result = checkout.snakemake("-n", "-p", "--directory", str(tmp_path), "--config", "results='my results'")
    assert result.returncode == 0, result.stderr
    assert "--results 'my results'" in result.stdout + result.stderr


def test_a_cluster_is_not_asked_how_many_seeds_have_room(checkout: Checkout, data_root: Path) -> None:
    arguments = ("--executor", "slurm", "--jobs", "4", "--configfile", "config/paper.yaml")
    result = checkout.snakemake(*arguments, data_root=data_root)
    assert result.returncode != 0
    assert "block_size: null is refused on a cluster; allowed: a number of seeds" in result.stdout + result.stderr


@pytest.mark.parametrize("profile", ["slurm", "gpu"])
def test_every_profile_is_understood(checkout: Checkout, profile: str) -> None:
    command = ("--workflow-profile", f"profiles/{profile}", "--configfile", "config/smoke.yaml")
    assert checkout.plan(*command) == checkout.plan("--configfile", "config/smoke.yaml")


def test_the_cluster_knows_every_stage_that_may_use_a_gpu(checkout: Checkout) -> None:
    rules = "".join(path.read_text() for path in sorted((checkout.root / "workflow" / "rules").glob("*.smk")))
    parts = re.split(r"^rule (\w+)", rules, flags=re.MULTILINE)[1:]
    wanted = {name for name, body in zip(parts[::2], parts[1::2], strict=True) if "gpu=GPU" in body}
    assert wanted == {name for name, spec in STAGES.items() if spec.trains}
    profile = yaml.safe_load((checkout.root / "profiles" / "slurm" / "config.yaml").read_text())
    assert set(profile["__variables__"]["stages"]) == wanted
