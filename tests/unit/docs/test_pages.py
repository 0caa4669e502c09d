"""Generated pages, and the generated parts of pages, are what code, config and the replication say now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from sifu import RULES_VERSION, __version__
from sifu.docs.forgetting import few_seeds
from sifu.docs.generated_parts import filled
from sifu.docs.pages import by_hand, pages
from sifu.docs.settings import config_page
from sifu.errors import SifuError
from sifu.plan.load import load_suite, read_yaml
from sifu.replication.published import CONFIG, NOT_RUN, REPLICATION, described
from sifu.report.leaderboard import AGAIN
from tests.conftest import REPO
from tests.docs.numbers import typed_numbers

BARE = re.compile(r"(?<![\w/])python3? -m sifu(?![.\w])")  # Flower's has an environment of its own
REPLICATED = sorted((REPO / "docs" / "replication").glob("*.md"))


@pytest.mark.second
def test_generated_pages_are_current() -> None:
    wanted = pages(REPO)
    stale = [str(path.relative_to(REPO)) for path, text in wanted.items() if path.read_text() != text]
    assert not stale, f"out of date: {', '.join(stale)}; run `make docs`"
    names = {path.relative_to(REPO).as_posix() for path in wanted}
    assert {"README.md", "docs/rules.md", "docs/results.md", "docs/replication/index.md"} <= names


def test_the_page_of_settings_names_every_config_of_a_run() -> None:
    heading = next(line for line in config_page().splitlines() if line.endswith(": what to run"))
    files = {path.name for path in (REPO / "config").glob("*.yaml")} - {"scenarios.yaml", "variants.yaml"}
    assert set(heading.removeprefix("## ").partition(":")[0].split(", ")) == files


def test_words_on_settings_are_not_shown_as_code() -> None:
    """Which Markdown does with lines that begin with four spaces, as docstrings' do."""
    assert [line for line in config_page().splitlines() if line.startswith("    ")] == []


def test_commands_of_pages_use_the_environment_that_make_sets_up() -> None:
    """A bare Python may be another one, without the suite."""
    found = []
    for path in (*REPO.glob("*.md"), *REPO.glob("docs/**/*.md"), REPO / "config" / "README.md"):
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
        lines = [line for kind, block in blocks if kind in ("", "sh", "bash") for line in block.splitlines()]
        found += [f"{path.name}: {line}" for line in lines if BARE.search(line)]
    assert not found, found


@pytest.mark.parametrize("path", by_hand(REPO), ids=lambda path: path.name)
def test_no_number_is_typed_by_hand(path: Path) -> None:
    found = typed_numbers(path.read_text())
    assert not found, f"generate them (sifu/docs/generated_parts.py), or say it without: {found}"


def test_a_typed_number_is_noticed() -> None:
    page = "SIFU takes 353 rounds,\n<!-- docs: level -->95%<!-- end --> sure, `4` jobs, Table 2, AISTATS 2024, B = 1.\n"
    assert typed_numbers(page) == ["SIFU takes 353 rounds,"]
    assert typed_numbers("recovery to 93% in 0.5 of the time") == ["recovery to 93% in 0.5 of the time"]


def test_parts_follow_the_replication(tmp_path: Path) -> None:
    """Another run, other sentences: 3 seeds, 80%, the row of its last request, the tenth."""
    folder = tmp_path / REPLICATION
    (folder / "report" / "tables").mkdir(parents=True)
    manifest = {"seeds": [0, 1, 2], "scenarios": described(REPO / CONFIG)["scenarios"], "variants": {}, "blocks": []}
    manifest["rules_version"] = RULES_VERSION
    manifest["scenarios"]["mnist"]["stop"]["accuracy"] = 0.8
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "report" / "tables" / "headline.csv").write_text(
        "scenario,method,request,rounds\nmnist,SIFU,1,7\nmnist,SIFU,2,8\nmnist,SIFU,10,6\nother,SIFU,11,9\n"
    )
    page = "Of:\n<!-- docs: setting -->\nold\n<!-- end -->\n<!-- docs: headline -->\n<!-- end -->\n"
    text = filled(page, tmp_path)
    assert "Recovery to 80% accuracy" in text
    assert "mean over 3 seeds" in text
    assert "old" not in text
    assert "<!-- docs: headline -->\n| method | rounds |\n| --- | --- |\n| SIFU | 6 |\n<!-- end -->\n" in text
    assert filled(text, tmp_path) == text


def test_the_readme_says_what_few_seeds_see() -> None:
    assert few_seeds(REPO) == "10 seeds see no shift of margins below 1.6 standard deviations"
    assert few_seeds(REPO) in (REPO / "README.md").read_text()


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SifuError, match="there is nothing to put at <!-- docs: nothing -->; allowed: setting"):
        filled("<!-- docs: nothing --><!-- end -->", tmp_path)
    assert NOT_RUN in filled("<!-- docs: promise --><!-- end -->", tmp_path), "without a replication it says so"


def test_the_citation_is_of_this_version() -> None:
    cff = yaml.safe_load((REPO / "CITATION.cff").read_text())
    assert cff["version"] == __version__
    readme = (REPO / "README.md").read_text()
    assert "author = {Fraboni, Yann and Van Waerebeke, Martin and " in readme
    assert f"version = {{{__version__}}}" in readme


def test_every_make_target_has_a_help_line() -> None:
    makefile = (REPO / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    for target in phony.group(1).split():
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), f"make {target} has no help text"


def test_make_clean_removes_what_configs_and_pages_write() -> None:
    """Every results folder of a config or a command in a page, but for the published runs, which git keeps, and
    `mine`, which pages give to their reader.
    """
    clean = (REPO / "Makefile").read_text().partition("\nclean:")[2].partition("\n\n")[0]
    configs = {str(read_yaml(path).get("results", "")) for path in (REPO / "config").glob("*.yaml")}
    commands = "".join(path.read_text() for path in (REPO / "docs").glob("**/*.md"))
    written = configs | set(re.findall(r"results[= ](results/\w+)", commands)) | {AGAIN}
    kept = {"results", "results/paper", "results/mine", ""}
    assert written - kept
    assert {folder for folder in written - kept if f"{folder} " not in clean} == set()


def test_blocks_of_seeds_in_pages_are_those_of_the_default_job() -> None:
    config = REPO / "config" / "config.yaml"
    blocks = load_suite(read_yaml(config), config.parent).blocks_of("mnist_embedded")
    assert set(re.findall(r"s\d{3}-\d{3}", (REPO / "README.md").read_text())) == set(blocks)


@pytest.mark.parametrize("page", [*by_hand(REPO), *REPLICATED], ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_methods_that_are_not_searched_are_named() -> None:
    """Tuned under the same budget, or exempt for a reason that docs/rules.md gives."""
    variants, run = (read_yaml(REPO / "config" / f"{name}.yaml") for name in ("variants", "paper"))
    methods, searched = {variants[name]["method"] for name in run["variants"]}, set()
    for name in run["variants"]:
        searched |= {variants[name]["method"]} if "search" in variants[name] else set()
    words = (REPO / "docs" / "rules.md").read_text().partition("\n- Not searched:")[2].partition("\n- ")[0]
    assert set(re.findall(r"`(\w+)`", words)) == methods - searched
