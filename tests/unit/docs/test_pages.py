"""Generated pages, and the generated parts of pages, are what code, config and the published run say now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from sifu import __version__
from sifu.docs import PUBLISHED, by_hand, pages
from sifu.docs.generated_parts import filled
from sifu.docs.settings import config_page
from sifu.errors import SifuError
from sifu.plan.load import load_suite, read_yaml
from sifu.replication.published import changes, read_csv, read_manifest
from sifu.report.tables import markdown
from sifu.stages.report import CAPTIONS
from tests.conftest import REPO
from tests.docs.numbers import typed_numbers


def test_generated_pages_are_current() -> None:
    wanted = pages(REPO)
    stale = [str(path.relative_to(REPO)) for path, text in wanted.items() if path.read_text() != text]
    assert not stale, f"out of date: {', '.join(stale)}; run `make docs`"
    assert {"README.md", "design.md", "headline.md", "results.md", "reproduction.md"} <= {path.name for path in wanted}


def test_words_on_settings_are_not_shown_as_code() -> None:
    """Which Markdown does with lines that begin with four spaces, as docstrings' do."""
    assert [line for line in config_page().splitlines() if line.startswith("    ")] == []


@pytest.mark.parametrize("path", by_hand(REPO), ids=lambda path: path.name)
def test_no_number_is_typed_by_hand(path: Path) -> None:
    found = typed_numbers(path.read_text())
    assert not found, f"generate them (sifu/docs/blocks.py), or say it without: {found}"


def test_a_typed_number_is_noticed() -> None:
    page = "SIFU takes 353 rounds,\n<!-- docs: level -->95%<!-- end --> sure, `4` jobs, Table 2, AISTATS 2024, B = 1.\n"
    assert typed_numbers(page) == ["SIFU takes 353 rounds,"]
    assert typed_numbers("recovery to 93% in 0.5 of the time") == ["recovery to 93% in 0.5 of the time"]


def test_the_published_run_is_that_of_todays_config() -> None:
    manifest = read_manifest(REPO / PUBLISHED)
    assert manifest["config"] == "mnist.yaml"
    found = changes(manifest, REPO / "config" / manifest["config"])
    assert not found, f"docs/mnist is stale: run make mnist ({'; '.join(found)})"


def test_every_published_table_has_its_page() -> None:
    folder = REPO / PUBLISHED
    tables, texts = ({path.stem for path in folder.glob(f"*.{kind}")} for kind in ("csv", "md"))
    assert tables == texts
    assert {"headline", "budgets", "certificates", "bounds", "search"} <= tables
    for name in tables:
        text = (folder / f"{name}.md").read_text()
        assert text == markdown(read_csv(folder / f"{name}.csv"), CAPTIONS[name])
    labels = {variant["label"] for variant in read_manifest(folder)["variants"].values()}
    assert set(read_csv(folder / "headline.csv")["method"]) == labels


def edited(change: object, *keys: str) -> dict[str, object]:
    """The published manifest with one value changed."""
    manifest = json.loads((REPO / PUBLISHED / "manifest.json").read_text())
    place = manifest
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = change
    return manifest


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (("rules_version",), "0.1", "rules 0.1, now"),
        (("seeds",), [0, 1], "seeds: [0, 1], now"),
        (("scenarios", "mnist", "stop", "accuracy"), 0.9, "scenarios.mnist.stop.accuracy: 0.9, now 0.93"),
        (("scenarios", "mnist", "gone"), 1, "scenarios.mnist.gone: 1, now None"),
        (("variants", "fed_eraser", "settings", "every"), 5, "variants.fed_eraser.settings.every: 5, now 2"),
        (("only",), [], "only: [], now"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_a_stale_run_is_noticed(keys: tuple[str, ...], value: object, words: str) -> None:
    found = changes(edited(value, *keys), REPO / "config" / "mnist.yaml")
    assert any(text.startswith(words) for text in found), found


def test_a_setting_that_is_new_changes_nothing_at_its_default() -> None:
    manifest = read_manifest(REPO / PUBLISHED)
    del manifest["scenarios"]["mnist"]["backdoor"]
    del manifest["variants"]["fed_eraser"]["settings"]["store"]
    assert changes(manifest, REPO / "config" / "mnist.yaml") == []


def test_the_readme_follows_the_published_run(tmp_path: Path) -> None:
    """Another run, other sentences: 3 seeds, 80%, the row of its last request, the tenth."""
    folder = tmp_path / PUBLISHED
    folder.mkdir(parents=True)
    manifest = edited(0.8, "scenarios", "mnist", "stop", "accuracy") | {"seeds": [0, 1, 2]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "headline.csv").write_text(
        "scenario,method,request,rounds\nmnist,SIFU,1,7\nmnist,SIFU,2,8\nmnist,SIFU,10,6\nother,SIFU,11,9\n"
    )
    page = "Of:\n<!-- docs: setting -->\nold\n<!-- end -->\n<!-- docs: headline -->\n<!-- end -->\n"
    text = filled(page, tmp_path)
    assert "Recovery to 80% accuracy" in text
    assert "mean over 3 seeds" in text
    assert "old" not in text
    assert "<!-- docs: headline -->\n| method | rounds |\n| --- | --- |\n| SIFU | 6 |\n<!-- end -->\n" in text
    assert filled(text, tmp_path) == text


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SifuError, match="there is nothing to put at <!-- docs: nothing -->; allowed: setting"):
        filled("<!-- docs: nothing --><!-- end -->", tmp_path)
    with pytest.raises(SifuError, match=r"manifest\.json cannot be read"):
        filled("<!-- docs: promise --><!-- end -->", tmp_path)


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


def test_blocks_of_seeds_in_pages_are_those_of_the_default_job() -> None:
    config = REPO / "config" / "config.yaml"
    blocks = load_suite(read_yaml(config), config.parent).blocks
    assert set(re.findall(r"s\d{3}-\d{3}", (REPO / "README.md").read_text())) == set(blocks)


@pytest.mark.parametrize("page", by_hand(REPO), ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
