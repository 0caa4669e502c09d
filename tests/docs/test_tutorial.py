"""docs/tutorial.md, followed word by word, but for two things that would take most of the time: DP-FedAvg, with its
search and its own training, is left out, and no report is made (test_smoke.py runs all of config/smoke.yaml).
"""

from __future__ import annotations

import re
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from tests.conftest import REPO
from tests.docs.tutorial import Reader, Step, sections

SECTIONS = sections("tutorial.md")
MEASURED = "results/smoke/verify/smoke/s000-001/metrics.parquet"
LESS = '--config "variants=[scratch,sifu]"'  # of config/smoke.yaml, without dp_smoke
SMOKE = f".venv/bin/snakemake {MEASURED} --cores 2 --configfile config/smoke.yaml {LESS}"  # what `make smoke` runs
CPU_SECONDS = 120


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader.at(tmp_path_factory.mktemp("tutorial"))


def quick(step: Step) -> Step:
    """The step as far as the measurements of two variants, in the environment that runs the tests."""
    dry_run = re.sub(r"snakemake -n (.*)$", rf"snakemake {MEASURED} -n \1 {LESS}", step.body, flags=re.MULTILINE)
    return step._replace(body=dry_run.replace("make smoke", SMOKE))


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
            reader.follow(quick(step))
            outputs.append((title, step, reader.output))
    dry = next(text for title, step, text in outputs if step.how == "run" and " -n " in step.body)
    assert not re.search(r"^train ", dry, re.MULTILINE), "the training does not depend on sigma"
    used = getrusage(RUSAGE_CHILDREN)
    assert used.ru_utime + used.ru_stime - began < CPU_SECONDS


def test_every_section_with_a_command_is_followed() -> None:
    assert [title for title, steps in SECTIONS.items() if steps] == ["Run it", "Read one cell", "Change sigma"]
    assert sum(step.body.count("make smoke") for steps in SECTIONS.values() for step in steps) == 2
