"""The published replication: what pages quote, and whether its settings are those of today's config."""

from __future__ import annotations

import contextlib
import copy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sifu import RULES_VERSION
from sifu.cli.main import main
from sifu.docs.generated_parts import filled
from sifu.errors import StoreError
from sifu.replication.published import (
    CONFIG,
    NOT_RUN,
    REPLICATION,
    changes,
    described,
    differences,
    quoted,
    read_csv,
    read_manifest,
)
from tests.conftest import REPO

needs_replication = pytest.mark.skipif(
    not (REPO / REPLICATION / "manifest.json").exists(), reason="results/paper is not in this checkout"
)
PAGE = (
    "<!-- docs: figure --><!-- end --> <!-- docs: tables --><!-- end --> <!-- docs: setting --><!-- end -->\n"
    "<!-- docs: headline -->\n<!-- end -->\n"
)


def write_manifest(root: Path) -> dict[str, Any]:
    """The manifest of a small run, after writing it."""
    with contextlib.chdir(root):
        assert main(["manifest", "--config", str(root / "config" / "small.yaml")]) == 0
    return read_manifest(root / "results")


def test_pages_quote_the_replication_alone(small_run: Path, tmp_path: Path) -> None:
    assert filled(PAGE, tmp_path).count(NOT_RUN) == 4
    write_manifest(small_run)
    shutil.copytree(small_run / "results" / "report", tmp_path / REPLICATION / "report")
    assert quoted(tmp_path) is None, "a run without its manifest is quoted"
    shutil.copy(small_run / "results" / "manifest.json", tmp_path / REPLICATION)
    page = filled(PAGE, tmp_path)
    assert "(results/paper/report/figures/requests.png)" in page
    assert "[all requests](results/paper/report/tables/headline.md)" in page
    assert "Smoke with the paper's settings: 20 clients" in page
    assert "make paper" in page
    assert "| SIFU | " in page
    assert filled(page, tmp_path) == page


def test_a_manifest_without_a_report_is_not_quoted(small_run: Path, tmp_path: Path) -> None:
    write_manifest(small_run)
    (tmp_path / REPLICATION).mkdir(parents=True)
    shutil.copy(small_run / "results" / "manifest.json", tmp_path / REPLICATION)
    assert quoted(tmp_path) is None
    with pytest.raises(StoreError, match="cannot read"):
        read_csv(tmp_path / "none.csv")


def test_a_changed_setting_is_noticed(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "copy")
    manifest, config = write_manifest(tmp_path / "copy"), tmp_path / "copy" / "config" / "small.yaml"
    assert changes(manifest, config) == []
    scenarios = config.with_name("scenarios.yaml")
    text = scenarios.read_text()
    scenarios.write_text(text.replace("stop: {accuracy: 0.8, min_rounds: 10", "stop: {accuracy: 0.7, min_rounds: 10"))
    assert changes(manifest, config) == ["scenarios.smoke.stop.accuracy: 0.8, now 0.7"]


@needs_replication
def test_the_replication_is_that_of_todays_config() -> None:
    sentences = changes(read_manifest(REPO / REPLICATION), REPO / CONFIG)
    assert not sentences, f"results/paper is stale: run make paper ({'; '.join(sentences)})"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(REPO), *arguments], capture_output=True, text=True, check=False)


@needs_replication
@pytest.mark.skipif(git("rev-parse", "--is-shallow-repository").stdout != "false\n", reason="needs the whole history")
def test_the_commits_that_results_name_are_in_the_history() -> None:
    """Whoever wants to see the code behind a row can check it out; nobody knows the commit of the oldest rows."""
    commits = {block["commit"].removesuffix("-dirty") for block in read_manifest(REPO / REPLICATION)["blocks"]}
    lost = [one for one in commits - {"unknown"} if git("merge-base", "--is-ancestor", one, "HEAD").returncode]
    assert not lost, "merge the branches that these are on, do not rebase them"


def manifest_of_today() -> dict[str, Any]:
    """What a run with today's config says of its settings."""
    return {"rules_version": RULES_VERSION} | copy.deepcopy(described(REPO / CONFIG))


@pytest.mark.parametrize(
    ("keys", "value", "sentence"),
    [
        (("rules_version",), "0.1", "rules 0.1, now"),
        (("seeds",), [0, 1], "seeds: now also 2, 3"),
        (("scenarios", "mnist", "stop", "accuracy"), 0.9, "scenarios.mnist.stop.accuracy: 0.9, now 0.93"),
        (("scenarios", "mnist", "gone"), 1, "scenarios.mnist.gone: 1, now None"),
        (("variants", "fed_eraser_searched", "settings", "every"), 5, "variants.fed_eraser_searched.settings.every: 5"),
        (("only",), [], "only.mnist: None, now"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_a_stale_run_is_noticed(keys: tuple[str, ...], value: object, sentence: str) -> None:
    manifest = manifest_of_today()
    place = manifest
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    sentences = changes(manifest, REPO / CONFIG)
    assert any(text.startswith(sentence) for text in sentences), sentences


def test_sizes_of_blocks_make_nothing_stale() -> None:
    """They change where results lie, and no number: of one experiment, and of a list of them."""
    manifest = manifest_of_today()
    planned = manifest["side_experiments"]
    for entry in (planned["oracles"], *planned["atlas"]):
        entry["block_size"] += 1
    planned["oracles"]["block_sizes"] = []
    assert changes(manifest, REPO / CONFIG) == []


def test_a_changed_list_says_what_is_gone_and_what_is_new() -> None:
    """Entries of a list are told apart by what they are about; names in a list by themselves."""
    entries = [[{"scenario": "mnist", "variants": names}] for names in (["last", "sifu"], ["sifu", "scratch"])]
    assert differences("only", *entries) == ["only.mnist.variants: no longer last, now also scratch"]
    assert differences("order", [1, 2], [2, 1]) == ["order: [1, 2], now [2, 1]"]


def test_a_setting_that_is_new_changes_nothing_at_its_default() -> None:
    manifest = manifest_of_today()
    del manifest["scenarios"]["mnist"]["backdoor"]
    del manifest["variants"]["fed_eraser_searched"]["settings"]["store"]
    assert changes(manifest, REPO / CONFIG) == []
