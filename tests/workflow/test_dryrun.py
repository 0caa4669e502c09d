"""The graph as Snakemake makes it. What is planned or refused before that is tests/workflow/test_plan.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from sifu.plan.stage_spec import STAGES
from tests.workflow.conftest import ONCE, SMOKE, Checkout, parse_plan


@pytest.mark.second
def test_default_config(checkout: Checkout, tmp_path: Path) -> None:
    """3 seeds in one block; 13, 6, 6 and 5 variants, 2 of them with a training of their own; nothing is searched.

    From another folder, into results whose name has a space: commands quote it.
    """
    result = checkout.snakemake("-n", "-p", "--directory", str(tmp_path), "--config", "results='my results'")
    assert result.returncode == 0, result.stderr
    plan = parse_plan(result.stdout + result.stderr)
    blocks = {"partition": 4, "train": 4, "unlearn": 30, "verify": 4, "alpha": 4, "sweep": 1, "request_sets": 1}
    figures = {"figure": 11}  # neither audits nor an atlas
    many = {"train_variant": 2, "counterfactual": 1, "alpha_sweep": 1, "oracles": 1, "forgetting": 1}
    assert plan == ONCE | figures | many | blocks
    assert sum(plan.values()) <= 70
    assert "--results 'my results'" in result.stdout + result.stderr


@pytest.mark.long  # tests/workflow/test_whole.py runs it; tests/workflow/test_plan.py plans it
def test_whole_config(checkout: Checkout) -> None:
    """4 scenarios with 7, 3, 3 and 2 variants, a block of 2 seeds; one variant has a search and its own training.

    Another has a search that needs the scenario's training with the seed that is not reported; two settings of a
    scenario are searched, on another partition.
    """
    plan = checkout.plan("--configfile", "config/whole.yaml")
    blocks = {"partition": 6, "train": 5, "unlearn": 15, "verify": 4, "alpha": 4, "sweep": 1, "request_sets": 1}
    figures = {"figure": 10}  # neither audits nor oracles nor an atlas
    others = {"search": 2, "scenario_search": 2, "train_variant": 1, "counterfactual": 2, "alpha_sweep": 1}
    assert plan == ONCE | figures | others | blocks


def test_paper_config(checkout: Checkout, data_root: Path) -> None:
    """34 scenarios less the 3 of CelebA, which cannot be shipped; all 10 seeds in one block. Jobs of a GPU
    are listed where there is none.
    """
    result = checkout.snakemake(
        *("-n", "--configfile", "config/paper.yaml", "--config", "block_sizes=[]", "device=cuda"), data_root=data_root
    )
    assert result.returncode == 0, result.stderr
    there = (data_root / "celeba").exists() or (data_root / "celeba_subset").exists()
    # the paper's datasets, MNIST by writer, two with data at the server, and two models of a method's own are searched,
    # and so trained with other seeds as well; the others take their dataset's values
    datasets = 5 if there else 4
    blocks, searched = 34 if there else 31, datasets + 5
    output = result.stdout + result.stderr
    plan = parse_plan(output)
    each = dict.fromkeys(("verify", "alpha"), blocks) | dict.fromkeys(("partition", "train"), blocks + searched)
    # 22 variants on MNIST, 16 on CIFAR-10, 15 on others, 11 with marks, 11 and 17 on two others, 6 on three controls, 8
    # where single clients leave; the field's 44 and 46 on two, 7, 7, 7 and 11 on others, 34 and 38 with twins, 19
    # and three times 8 on MNIST for methods that these lack; 6 of a ResNet
    unlearned = 22 + 16 + 15 * (datasets - 2) + 22 * datasets + 28 + 18 + 8 + 90 + 32 + 72 + 43 + 6
    # DP-FedAvg: one variant on a dataset, two on MNIST, one with each of its marks, one and two on two others; shards
    # of 5 and of 10 where single clients leave; shards of both on two, FATS on one of them; DP-FedAvg's two and one,
    # shards and FATS with twins; five of FATS
    trained = datasets + 1 + 2 * datasets + 3 + 2 + 4 + 1 + 4 + 3 + 5
    # four on MNIST and by writer, two on a network, 13 on two, one each of two models; for twins rapid retraining's of
    # MNIST, and of CIFAR-10 with data at the server FedEraser's and DP-FedAvg's
    searches = {"search": 4 * 2 + 2 * (datasets - 1) + 2 * 13 + 2 + 1 + 2, "scenario_search": datasets - 1}
    # all but two models of a method's own, with and without twins, many clients, where a single method is compared, and
    # the searched methods with twins, of which none is compared
    compared = {"counterfactual": blocks - 6}
    sweeps = {"sweep": 2 * datasets, "setting_sweep": 2, "request_sets": datasets, "alpha_sweep": 4 * datasets}
    many = {"audit": 2, "oracles": 5 * 3 + 9, "forgetting": 6, "atlas": 8}  # blocks of 75 of 225 seeds, of networks 25
    assert plan == ONCE | {"unlearn": unlearned, "train_variant": trained} | compared | sweeps | each | many | searches
    assert sum(plan.values()) < 1500
    notice = "scenarios celeba, celeba_watermark, celeba_backdoor are left out: dataset celeba is missing"
    assert output.count("left out") == (0 if there else 1), "one sentence for all of them"
    assert (notice in output) == (not there)


def test_bad_settings_end_before_any_job(checkout: Checkout) -> None:
    result = checkout.snakemake("--config", "sedes=5")
    output = result.stdout + result.stderr
    assert result.returncode != 0
    assert "sedes: 5 is refused; allowed: only the keys scenarios" in output
    assert "Traceback" not in output
    assert not (checkout.root / "results").exists()


@pytest.mark.long
def test_a_file_of_another_config_is_not_a_target(checkout: Checkout) -> None:
    result = checkout.snakemake("-n", "results/train/smoke/s000-001/cells.parquet")
    assert result.returncode != 0
    assert "Traceback" not in result.stdout + result.stderr


@pytest.mark.long  # make test-cluster runs with the one of Slurm
@pytest.mark.parametrize("profile", ["slurm", "gpu"])
def test_every_profile_is_understood(checkout: Checkout, profile: str) -> None:
    assert checkout.plan("--workflow-profile", f"profiles/{profile}", "--configfile", "config/smoke.yaml") == SMOKE


def test_the_cluster_knows_every_stage_that_may_use_a_gpu(checkout: Checkout) -> None:
    rules = "".join(path.read_text() for path in sorted((checkout.root / "workflow" / "rules").glob("*.smk")))
    parts = re.split(r"^rule (\w+)", rules, flags=re.MULTILINE)[1:]
    wanted = {name for name, body in zip(parts[::2], parts[1::2], strict=True) if "gpu=GPU" in body}
    assert wanted == {name for name, spec in STAGES.items() if spec.trains}
    profile = yaml.safe_load((checkout.root / "profiles" / "slurm" / "config.yaml").read_text())
    assert set(profile["__variables__"]["stages"]) == wanted
