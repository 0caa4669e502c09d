"""The plan as Snakemake asks for it: what its command line gives, and results that cannot be written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sifu.cli.config_files import check_config_files
from sifu.config.yaml_file import read_yaml
from sifu.errors import SifuError
from sifu.plan.command_line import with_types
from sifu.plan.workflow import WorkflowPlan, load_workflow
from tests.conftest import REPO

SMOKE = REPO / "config" / "smoke.yaml"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def planned(**command_line: Any) -> WorkflowPlan:
    raw = read_yaml(SMOKE) | command_line
    return load_workflow(raw, REPO, [SMOKE], remote=False, nodes=None, cores=2, main=True)


def test_texts_of_the_command_line_are_what_yaml_makes_of_them() -> None:
    """Snakemake gives "null" and, inside of lists and mappings, only texts."""
    sets = {"scenarios": ["smoke"], "variants": ["sifu"], "count": "2", "num_seeds": "null"}
    run = planned(sigma_sweep="null", alpha_sweep="null", block_size="null", request_sets=sets, only=[]).targets.run
    assert (run.sigma_sweep, run.alpha_sweep, run.block_size) == (None, None, None)
    assert run.request_sets is not None
    assert (run.request_sets.count, run.request_sets.num_seeds) == (2, None)


def test_texts_of_a_file_stay_texts() -> None:
    file = {"label": "2", "inner": {"name": "null"}, "list": ["1"]}
    assert with_types(file, [file]) == file
    given = {"label": "2", "inner": {"name": "null", "other": "0.5"}, "list": ["2"]}
    assert with_types(given, [file]) == {"label": "2", "inner": {"name": "null", "other": 0.5}, "list": [2]}


def test_what_is_not_null_is_refused_in_one_sentence() -> None:
    with pytest.raises(SifuError, match=r"sigma_sweep: 'None' is refused; allowed: a mapping .*, or null"):
        planned(sigma_sweep="None")
    with pytest.raises(SifuError, match="num_seeds: 'two' is refused; allowed: a whole number"):
        planned(num_seeds="two")


def test_a_run_of_which_nothing_is_left_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SifuError, match="every scenario is left out, so there is nothing to run; is SIFU_DATA_ROOT"):
        planned(scenarios=["mnist"], data_root="/typo", missing_data="skip", scenario_searches=[])
    assert "dataset mnist is missing: looked for /typo/" in capsys.readouterr().err


def in_the_way(folder: Path, kind: str) -> str:
    if kind == "file":
        folder.write_text("")
    elif kind == "link":
        folder.symlink_to("/nowhere")
    elif kind == "proc":
        folder.symlink_to("/proc")  # nothing can be written there, not even by root
    else:
        folder.mkdir()
        (folder / "train").write_text("")
    return folder.name


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("file", r"cannot be written to mine \(mine is a file\): mend that, or name another folder"),
        ("link", r"cannot be written to mine \(mine is a link to nothing\)"),
        ("proc", r"cannot be written to mine \(.+\): mend that"),
        ("stage", r"cannot be written to mine/train \(mine/train is a file\)"),
    ],
)
def test_results_that_cannot_be_written(kind: str, words: str, tmp_path: Path) -> None:
    name = in_the_way(tmp_path / "mine", kind)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SifuError, match=words):
        planned(results=name)
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    planned(results="a/b")
    assert [path.name for path in tmp_path.iterdir()] == [".snakemake"], "but for what Snakemake keeps there, too"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--configfile", "config/smoke.yaml"], f"(did you mean {SMOKE}?)"),
        (["-n", "--configfiles", str(SMOKE), str(SMOKE.with_name("smok.yaml")), "--cores", "2"], "(did you mean smoke"),
        (
            ["--configfile=empty.yaml"],
            "empty.yaml must hold a mapping of keys to values, such as `num_seeds: 4`; it is",
        ),
        (["--configfile", "."], "cannot read .: it is a folder (Is a directory); name a file in it: empty.yaml"),
        (["--configfile", "empty.yaml/x.yaml"], "empty.yaml is a file, not the folder of x.yaml"),
    ],
)
def test_a_config_file_of_snakemake_is_read_first(arguments: list[str], words: str, tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").touch()
    with pytest.raises(SystemExit) as caught:
        check_config_files(arguments)
    assert words in str(caught.value)
    check_config_files(["-n", "--cores", "2", "--configfile", str(SMOKE)])
    shutil.copy(SMOKE, tmp_path / "mine.yaml")
    check_config_files(["--configfile", "mine.yaml"])
