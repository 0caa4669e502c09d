"""A method and a model from outside in the stages, and what runs again when one of them changes.

tests/docs/test_plugins.py runs a whole package through Snakemake.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sifu.cli.main import main
from sifu.plan.load import read_yaml
from sifu.plan.stage_spec import STAGES
from sifu.store.parquet import read_stamp, read_table
from sifu.store.schemas import CELLS
from tests.conftest import REPO
from tests.fake_packages import write_package

pytestmark = pytest.mark.second

BLOCK = ["--scenario", "tried", "--block", "s000-001", "--config", ".", "--results", "results"]
CODES = """
import json
from pathlib import Path
from sifu.plan.load import read_yaml
from sifu.plan.workflow import load_workflow
path = Path("run.yaml")
plan = load_workflow(read_yaml(path), Path(), [path], remote=False, nodes=None, cores=None, main=False)
jobs = plan.targets.suite.jobs
named = {f"{stage} {job.part}".strip(): (stage, job) for stage in jobs for job in jobs[stage]}
print(json.dumps({name: plan.targets.job_code(*job) for name, job in named.items()}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, outside of the checkout: a package and a config."""
    package = f"outside_{tmp_path.name}"
    write_package(tmp_path, package)
    scenario = read_yaml(REPO / "config" / "scenarios.yaml")["smoke"]
    scenario |= {"model": f"{package}.nets:small", "stop": {"accuracy": 0.5, "min_rounds": 2, "max_rounds": 4}}
    (tmp_path / "scenarios.yaml").write_text(yaml.safe_dump({"tried": scenario}))
    variant = {"label": "Mine", "method": f"{package}.forget:Mine"}
    (tmp_path / "variants.yaml").write_text(yaml.safe_dump({"mine": variant}))
    run = {"scenarios": ["tried"], "variants": ["scratch", "mine"], "num_seeds": 2, "block_size": 2}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(run))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def codes() -> dict[str, str]:
    """The code of every job, from a process of its own, as Snakemake asks."""
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    command = [sys.executable, "-P", "-c", CODES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def test_they_run_through_the_stages(folder: Path) -> None:
    for stage in (["partition"], ["train"], ["unlearn", "--variant", "scratch"], ["unlearn", "--variant", "mine"]):
        assert main([*stage, *BLOCK]) == 0
    assert main(["verify", "--variants", "scratch", "mine", *BLOCK]) == 0
    table = folder / "results" / "unlearn" / "tried" / "mine" / "s000-001" / "cells.parquet"
    assert set(read_table(table, CELLS)["variant"]) == {"mine"}
    stamp = read_stamp(table)
    assert json.loads(stamp["settings"])["model"] == f"outside_{folder.name}.nets:small"
    assert stamp["code_hash"] == codes()["unlearn mine"], "the stage and Snakemake speak of the same code"


@pytest.mark.parametrize(
    ("file", "old", "new", "stages"),
    [
        ("helpers.py", "0.5", "0.6", {"unlearn mine"}),
        pytest.param("forget.py", "history.current", "history.current + 0", {"unlearn mine"}, marks=pytest.mark.long),
        ("nets.py", "nn.Flatten()", "nn.Flatten(1)", set(STAGES) - {"partition", "null_space"}),
    ],
)
def test_an_edit_concerns_exactly_its_stages(folder: Path, file: str, old: str, new: str, stages: set[str]) -> None:
    before, path = codes(), folder / f"outside_{folder.name}" / file
    path.write_text(path.read_text().replace(old, new))
    after = codes()
    changed = {job for job in before if before[job] != after[job]}
    assert changed == {job for job in before if job in stages or job.split()[0] in stages}


def test_a_model_with_batch_statistics_is_refused_while_planning(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "scenarios.yaml").read_text()
    (folder / "scenarios.yaml").write_text(text.replace("nets:small", "nets:with_statistics"))
    assert main(["run", "--config", "run.yaml"]) == 2
    assert "contains BatchNorm1d (2), which mixes the examples of a batch" in capsys.readouterr().err
    assert not (folder / "results").exists()
