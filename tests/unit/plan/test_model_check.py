"""Models are checked while planning, and those that were found good only once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sifu.errors import SifuError
from sifu.plan import model_check
from sifu.plan.load import load_suite, read_yaml
from tests.conftest import REPO
from tests.fake_packages import write_package

PLAN = {"scenarios": ["tried"], "variants": ["scratch"]}


def write_config(folder: Path, model: str, **changes: object) -> None:
    """A scenario with another model, next to those of the suite."""
    scenario = read_yaml(REPO / "config" / "scenarios.yaml")["smoke"] | {"model": model}
    (folder / "scenarios.yaml").write_text(yaml.safe_dump({"tried": scenario | changes}))


def check(folder: Path, model: str) -> None:
    write_config(folder, model)
    model_check.check_models(load_suite(PLAN, folder, {}))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a package of the user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write_package(tmp_path, f"outside_{tmp_path.name}")
    return tmp_path


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("with_statistics", "contains BatchNorm1d .2., which mixes the examples of a batch"),
        ("too_many", r"gives \[3, 11\] for 3 images; it must give logits, \[3, 10\]"),
        ("broken", "cannot be built: ZeroDivisionError: division by zero .*nets.py, line "),
    ],
)
def test_a_model_that_cannot_be_trained_is_refused(folder: Path, model: str, words: str) -> None:
    with pytest.raises(SifuError, match=rf"^scenarios.tried: model outside_\S+.nets:{model} {words}") as caught:
        check(folder, f"outside_{folder.name}.nets:{model}")
    assert "\n" not in str(caught.value)
    assert not model_check.MEMO.exists(), "only good models are remembered"


def test_a_good_model_is_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(model_check, "_check", lambda scenario, planned: checked.append(planned.model))
    name = f"outside_{folder.name}.nets:small"
    for _ in range(2):
        check(folder, name)
    assert checked == [name]
    (state,) = json.loads(model_check.MEMO.read_text())
    assert state.startswith(f"{name} (1, 28, 28) 10 torch 2.")
    check(folder, "logistic")
    assert checked == [name, "logistic"]
    assert len(json.loads(model_check.MEMO.read_text())) == 2
    model_check.MEMO.write_text("{")  # damaged: nothing is remembered
    check(folder, name)
    assert checked == [name, "logistic", name]


def test_models_that_a_search_tries_are_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(model_check, "_check", lambda scenario, planned: checked.append(planned.model))
    write_config(folder, "logistic")
    search = {"scenario": "tried", "grid": {"model": ["logistic", "cnn28"]}, "num_seeds": 1}
    model_check.check_models(load_suite(PLAN | {"scenario_searches": [search]}, folder, {}))
    assert checked == ["logistic", "cnn28"]


def test_a_folder_that_cannot_be_written_is_no_problem(folder: Path) -> None:
    (folder / ".snakemake").touch()
    check(folder, f"outside_{folder.name}.nets:small")


@pytest.mark.long
def test_what_is_remembered_needs_no_torch_until_the_code_changes(folder: Path) -> None:
    """In processes of their own, as Snakemake plans."""
    write_config(folder, f"outside_{folder.name}.nets:small")
    code = (
        "import sys; from pathlib import Path; from sifu.plan.load import load_suite; "
        "from sifu.plan.model_check import check_models; "
        f"check_models(load_suite({PLAN}, Path(), {{}})); print('torch' in sys.modules)"
    )

    def imported_torch() -> str:
        environment = os.environ | {"PYTHONPATH": str(REPO)}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert [imported_torch(), imported_torch()] == ["True", "False"]
    with (folder / f"outside_{folder.name}" / "nets.py").open("a") as file:
        file.write("MORE = 1\n")
    assert imported_torch() == "True"
