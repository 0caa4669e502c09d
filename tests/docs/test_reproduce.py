"""docs/reproduce.md, followed word by word, but for the scenario: `smoke` is quick. The tests build on one another."""

from __future__ import annotations

import re

import pytest

from tests.conftest import REPO
from tests.docs.tutorial import Reader, Step, steps

STEPS = steps((REPO / "docs" / "reproduce.md").read_text())


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader.at(tmp_path_factory.mktemp("reproduce"))


def quick(step: Step) -> Step:
    body = step.body.replace("mnist_embedded", "smoke")
    return step._replace(
        body=body.replace(" device=cpu results=results/all", ' device=cpu results=results/all "scenarios=[smoke]"')
    )


def test_the_page_has_the_steps_that_are_followed() -> None:
    assert [step.how for step in STEPS] == ["run", "run", "see", "run", "see"]


@pytest.mark.long
def test_the_page_can_be_followed(reader: Reader) -> None:
    for step in STEPS:
        reader.follow(quick(step))


@pytest.mark.long
def test_another_run_is_noticed(reader: Reader) -> None:
    """A number of another seed under the same name."""
    command = STEPS[3].body.splitlines()[1].replace("mnist_embedded", "smoke").replace("--seed 2", "--seed 1")
    reader.run("mv results/one/unlearn/smoke/sifu/s002-002 results/one/unlearn/smoke/sifu/s001-001")
    with pytest.raises(AssertionError, match="holds rows of seed 2, its path says 1 to 1"):
        reader.run(command)


def test_the_cell_is_one_of_the_default_job() -> None:
    """The page's scenario, variant, seed and block are those that `make` runs."""
    from sifu.plan.load import load_suite, read_yaml

    config = REPO / "config" / "config.yaml"
    suite = load_suite(read_yaml(config), config.parent)
    text = (REPO / "docs" / "reproduce.md").read_text()
    assert "mnist_embedded" in suite.scenarios
    assert {"scratch", "sifu"} <= set(suite.variants_of("mnist_embedded"))
    assert suite.run.first_seed <= 2 < suite.run.first_seed + suite.run.num_seeds
    assert set(re.findall(r"results/all/unlearn/mnist_embedded/sifu/(\S+)/", text)) == {
        suite.blocks_of("mnist_embedded")[0]
    }
