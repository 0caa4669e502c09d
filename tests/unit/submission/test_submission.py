"""Submissions: an honest one passes, and each way to cheat is one line."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sifu.cli.main import main
from sifu.errors import StoreError
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import Provenance
from sifu.store.schemas import CELLS
from sifu.submission.archive import MANIFEST, unpack, write_archive
from sifu.submission.manifest import digest, read_manifest
from tests.conftest import REPO, one_sentence
from tests.fake_packages import HELPERS, METHOD
from tests.small_run import BLOCK

CELLS_OF = f"unlearn/smoke/{{}}/{BLOCK}/cells.parquet"
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def honest(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("submission") / "sifu.zip"
    with contextlib.chdir(small_run):
        assert main(["submit", "sifu", "--config", "config/small.yaml", "--out", str(path), "--link", "a paper"]) == 0
    return path


def check(root: Path, path: Path, *more: str) -> int:
    usual = ["--config", "config/small.yaml", "--device", "cpu", "--cells", "1", "--sample-seed", "0"]
    with contextlib.chdir(root):
        return main(["check-submission", str(path), *usual, *more])


def changed(honest: Path, tmp_path: Path, change: Callable[[Files, dict[str, Any]], None]) -> Path:
    """The honest archive with other files and another manifest, whose digests are right again."""
    with zipfile.ZipFile(honest) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    manifest = json.loads(files.pop(MANIFEST))
    change(files, manifest)
    manifest["files"] = {name: digest(data) for name, data in files.items()}
    write_archive(tmp_path / "other.zip", files | {MANIFEST: json.dumps(manifest).encode()})
    return tmp_path / "other.zip"


def with_cells(tmp_path: Path, files: Files, edit: Callable[[pd.DataFrame], pd.DataFrame], **stamp: str) -> None:
    """Other cells of SIFU, under the stamp that they had, or with some of it changed."""
    path = tmp_path / CELLS_OF.format("sifu")
    path.parent.mkdir(parents=True)
    path.write_bytes(files[CELLS_OF.format("sifu")])
    made_by = Provenance(**(read_stamp(path) | stamp))
    write_table(path, CELLS, edit(read_table(path, CELLS)), made_by)
    files[CELLS_OF.format("sifu")] = path.read_bytes()


def test_an_honest_submission_passes(small_run: Path, honest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(small_run, honest) == 0
    lines = capsys.readouterr().out.splitlines()
    names = ["archive", "files", "rules", "tables", "method", "code", "settings", "coverage", "cells", "cell"]
    assert [line.split()[1] for line in lines[:-1]] == [*names, "cells", "cell", "result"]
    assert all(line.startswith("ok ") for line in lines[:-1])
    assert "numbers, same" in lines[9]
    assert lines[-1] == "the submission passes"
    with zipfile.ZipFile(honest) as packed:
        manifest = json.loads(packed.read(MANIFEST))
    assert (manifest["name"], manifest["module"], manifest["link"]) == ("sifu", "sifu.methods.sifu", "a paper")
    assert [block["seeds"] for block in manifest["blocks"]] == [[0, 1], [0, 1]]


@pytest.mark.second
def test_a_cheaper_cost_is_found_by_the_re_run(
    small_run: Path, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All digests, columns and settings are right; only the client steps are half of what they were."""

    def halve(files: Files, _: dict[str, Any]) -> None:
        with_cells(tmp_path, files, lambda cells: cells.assign(client_steps=cells["client_steps"] // 2))

    assert check(small_run, changed(honest, tmp_path, halve)) == 1
    printed = capsys.readouterr().out
    (failed,) = (line for line in printed.splitlines() if line.startswith("FAILED"))
    assert "differs (request 1, client steps: " in failed
    assert printed.endswith("the submission does not pass: 1 failed\n")


def _other_settings(tmp_path: Path, files: Files, _: dict[str, Any]) -> None:
    path = tmp_path / "stamp.parquet"
    path.write_bytes(files[CELLS_OF.format("sifu")])
    settings = json.loads(read_stamp(path)["settings"])
    settings["stop"]["max_rounds"] += 1
    with_cells(tmp_path, files, lambda cells: cells, settings=json.dumps(settings))


def _other_rules(tmp_path: Path, files: Files, manifest: dict[str, Any]) -> None:
    manifest["rules_version"] = "0.1"
    with_cells(tmp_path, files, lambda cells: cells, rules_version="0.1")


def _other_seeds(tmp_path: Path, files: Files, _: dict[str, Any]) -> None:
    with_cells(tmp_path, files, lambda cells: cells[cells["request"] < 3])


def _names_code(_: Path, files: Files, manifest: dict[str, Any]) -> None:
    manifest["variant"]["method"] = "antigravity:fly"


def _other_variant(_: Path, files: Files, manifest: dict[str, Any]) -> None:
    manifest["variant"]["certificate"] = {"sigma": 0.7}


def _other_code(_: Path, files: Files, manifest: dict[str, Any]) -> None:
    files["code/sifu/methods/sifu.py"] += b"x = 1\n"


def _no_scratch(_: Path, files: Files, manifest: dict[str, Any]) -> None:
    del files[CELLS_OF.format("scratch")]


def _no_table(_: Path, files: Files, manifest: dict[str, Any]) -> None:
    files[CELLS_OF.format("sifu")] = b"PAR1" * 10


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (_other_settings, "settings  unlearn/smoke/sifu/s000-001/cells.parquet was made otherwise: settings.stop.max_"),
        (_other_rules, "rules     made under the rules '0.1', here they are"),
        (_other_seeds, "coverage  smoke: sifu has other seeds, requests or limits than scratch"),
        (_names_code, "method    the method 'antigravity:fly' is not known here: it names code: if you trust"),
        (_other_variant, "method    sifu is a variant of the suite with other settings: variant.certificate"),
        (_other_code, "code      code/sifu/methods/sifu.py is not what is installed here"),
        (_no_scratch, "tables    answers of sifu, expected sifu and scratch"),
        (_no_table, "is not a readable Parquet file"),
    ],
)
def test_each_check_is_a_line(
    small_run: Path, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any, line: str
) -> None:
    path = changed(honest, tmp_path, lambda files, manifest: change(tmp_path, files, manifest))
    assert check(small_run, path) == 1
    printed = capsys.readouterr().out
    assert any(line in found for found in printed.splitlines() if found.startswith("FAILED"))
    assert "nothing was run again, as a check above failed" in printed


def test_a_file_that_was_changed_later_is_found(
    small_run: Path, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(honest) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    write_archive(tmp_path / "later.zip", files | {"code/sifu/methods/sifu.py": b""})
    assert check(small_run, tmp_path / "later.zip") == 1
    assert "files     code/sifu/methods/sifu.py is not the file that was packed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "does not have the keys"),
        ("[]", "does not have the keys"),
        ("9" * 5000, "is not JSON"),
    ],
)
def test_a_bad_manifest_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    write_archive(tmp_path / "bad.zip", {MANIFEST: text.encode()})
    unpack(tmp_path / "bad.zip", tmp_path / "out")
    with pytest.raises(StoreError, match=words):
        read_manifest(tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "words"),
    [("scratch", "is part of every submission"), ("last", "last has no answers under results: run it first")],
)
def test_what_cannot_be_packed_is_one_sentence(
    small_run: Path, tmp_path: Path, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.chdir(small_run):
        assert main(["submit", name, "--config", "config/small.yaml", "--out", str(tmp_path / "x.zip")]) == 2
    assert words in one_sentence(capsys)


@pytest.mark.long
def test_a_method_of_another_package_is_packed_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its code travels along and is compared; a `module:name` is imported only for those who name it themselves."""
    (tmp_path / "mine.py").write_text(METHOD.replace("from .helpers", "from helpers_of_mine"))
    (tmp_path / "helpers_of_mine.py").write_text(HELPERS)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "variants.yaml").write_text('mine: {label: Mine, method: "mine:Mine"}\n')
    (tmp_path / "config" / "small.yaml").write_text("scenarios: [smoke]\nvariants: [scratch, mine]\nnum_seeds: 1\n")

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sifu", *arguments]
        environment = os.environ | {"PYTHONPATH": str(REPO), "OMP_NUM_THREADS": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    usual = ["--scenario", "smoke", "--block", "s000-000", "--config", "config"]
    stages = (["partition"], ["train"], *(["unlearn", "--variant", name] for name in ("scratch", "mine")))
    for stage in (*stages, ["verify", "--variants", "scratch", "mine"]):
        assert ran(*stage, *usual).returncode == 0, stage
    assert ran("submit", "mine", "--config", "config/small.yaml").returncode == 0
    with zipfile.ZipFile(tmp_path / "mine.zip") as packed:
        assert {"code/mine.py", "code/helpers_of_mine.py"} <= set(packed.namelist())
    check = ["check-submission", "mine.zip", "--config", "config/small.yaml", "--cells", "1"]
    stranger = ran(*check)
    assert (stranger.returncode, "it names code" in stranger.stdout) == (1, True)
    trusting = ran(*check, "--method", "mine:Mine")
    assert trusting.returncode == 0, trusting.stdout
    assert "2 modules as installed here" in trusting.stdout
    (tmp_path / "helpers_of_mine.py").write_text(HELPERS.replace("0.5", "0.6"))
    edited = ran(*check, "--method", "mine:Mine")
    assert (edited.returncode, "code/helpers_of_mine.py is not what is installed here" in edited.stdout) == (1, True)
