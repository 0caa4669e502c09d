"""docs/tutorial.md, followed word by word, but for two things that would take most of the time: Last, and DP-FedAvg
with its search and its own training, are left out, and no report is made (test_smoke.py runs all of config/smoke.yaml).
"""

from __future__ import annotations

import re
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from sifu.plan.load import read_yaml
from tests.conftest import REPO
from tests.docs.tutorial import Reader, Step, sections

SECTIONS = sections("tutorial.md")
MEASURED = "results/smoke/verify/smoke/s000-001/metrics.parquet"
LESS = '--config "variants=[{}]"'  # of config/smoke.yaml, without last and dp_smoke
SMOKE = f".venv/bin/snakemake {MEASURED} --cores 2 --configfile config/smoke.yaml {LESS}"  # what `make smoke` runs
VARIANTS, OWN = "scratch,sifu", "Add a method"
CPU_SECONDS = 120


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader.at(tmp_path_factory.mktemp("tutorial"))


def quick(step: Step, title: str) -> Step:
    """A step of commands as far as the measurements of some variants, in the environment that runs the tests."""
    if step.how != "run":
        return step
    some = f"{VARIANTS},empty_layer" if title == OWN else VARIANTS
    less = rf"snakemake {MEASURED} -n \1 {LESS.format(some)}"
    dry_run = re.sub(r"snakemake -n (.*)$", less, step.body, flags=re.MULTILINE)
    return step._replace(body=dry_run.replace("make smoke", SMOKE.format(some)))


def test_make_smoke_runs_what_this_test_runs_in_its_place() -> None:
    makefile = (REPO / "Makefile").read_text()
    assert re.search(r"^smoke:.*\n\t\$\(MAKE\) run CONFIG=config/smoke\.yaml", makefile, re.MULTILINE)
    assert "$(BIN)/python -m sifu run --config $(CONFIG) --cores $(CORES)" in makefile


@pytest.mark.long
def test_the_page_can_be_followed(reader: Reader) -> None:
    used = getrusage(RUSAGE_CHILDREN)
    began = used.ru_utime + used.ru_stime
    outputs = []
    for title, steps in SECTIONS.items():
        for step in steps:
            reader.follow(quick(step, title))
            outputs.append((title, step, reader.output))
    dry = next(text for title, step, text in outputs if step.how == "run" and " -n " in step.body)
    assert not re.search(r"^train ", dry, re.MULTILINE), "the training does not depend on sigma"
    assert "empty_layer" in read_yaml(reader.root / "config" / "smoke.yaml")["variants"]
    used = getrusage(RUSAGE_CHILDREN)
    assert used.ru_utime + used.ru_stime - began < CPU_SECONDS


def test_every_section_with_a_command_is_followed() -> None:
    assert [title for title, steps in SECTIONS.items() if steps] == ["Run it", "Read one cell", "Change sigma", OWN]
    assert sum(step.body.count("make smoke") for steps in SECTIONS.values() for step in steps) == 3


def test_the_page_names_the_variants_that_smoke_runs() -> None:
    text = (REPO / "docs" / "tutorial.md").read_text().partition("These variants answer:")[2].partition("\n\n")[0]
    assert re.findall(r"`(\w+)`", text) == read_yaml(REPO / "config" / "smoke.yaml")["variants"]


def test_the_method_of_the_page_is_in_style(tmp_path: Path) -> None:
    """It is a small file and a line, goes where the page says, and passes the checks on code."""
    writer = Reader.at(tmp_path)
    written = [step for step in SECTIONS[OWN] if step.path]
    for step in written:
        writer.follow(step)
    assert [step.how for step in written] == ["new", "below", "at the end"]
    assert len(written[0].body.splitlines()) <= 20
    writer.run(f".venv/bin/ruff check {written[0].path} {written[1].path}")
    writer.run(f".venv/bin/ruff format --check {written[0].path} {written[1].path}")
    assert not (REPO / written[0].path).exists()
