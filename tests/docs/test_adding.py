"""docs/adding.md, followed word by word. The tests of this file build on one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.docs.tutorial import Reader, sections, steps

pytestmark = pytest.mark.second

SECTIONS = sections("adding.md")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader.at(tmp_path_factory.mktemp("adding"))


# a method, from its file to its contract, stands for all: each of them is a file, a line and its tests
@pytest.mark.parametrize(
    "title", [title if title == "A method" else pytest.param(title, marks=pytest.mark.long) for title in SECTIONS]
)
def test_the_page_can_be_followed(reader: Reader, title: str) -> None:
    assert SECTIONS[title]
    for step in SECTIONS[title]:
        reader.follow(step)


def test_everything_has_its_place_and_is_in_style(tmp_path: Path) -> None:
    """Every file and line of the page goes where it says, and the code passes the checks that it asks for."""
    writer = Reader.at(tmp_path)
    written = [step for parts in SECTIONS.values() for step in parts if step.path]
    for step in written:
        writer.follow(step)
    added = " ".join(step.path for step in written if step.path.endswith(".py"))
    writer.run(f".venv/bin/ruff check {added}")
    writer.run(f".venv/bin/ruff format --check {added}")


def test_each_addition_is_one_file_and_one_line() -> None:
    """Besides tests and config: what the page claims."""
    for title in ("A method", "A metric", "A figure"):
        code = [step for step in SECTIONS[title] if step.path.startswith("sifu/")]
        assert [step.how for step in code] == ["new", "below"]
        assert code[1].body.count("\n") == 1
    assert not (REPO / "sifu" / "methods" / "negate.py").exists()


def test_a_method_takes_twenty_lines() -> None:
    file = next(step for step in SECTIONS["A method"] if step.how == "new")
    assert len(file.body.splitlines()) <= 20


def test_a_stage_is_its_file_its_record_its_rule_and_its_test() -> None:
    assert [(step.path, step.how) for step in SECTIONS["A stage"] if step.path] == [
        ("sifu/stages/sizes.py", "new"),
        ("sifu/plan/stage_spec.py", "at the end"),
        ("workflow/rules/sizes.smk", "new"),
        ("tests/unit/stages/test_sizes.py", "new"),
    ]


def test_a_page_that_cannot_be_followed_is_noticed() -> None:
    with pytest.raises(AssertionError, match="say above the block where it goes"):
        steps("Put this somewhere:\n\n```python\nx = 1\n```\n")


def test_a_broken_promise_is_noticed(tmp_path: Path) -> None:
    lost = Reader(tmp_path)
    run, see = steps("Run\n\n```sh\necho no\n```\n\nSee\n\n```text\nyes\n```\n")
    lost.follow(run)
    with pytest.raises(AssertionError, match="the page promises 'yes'"):
        lost.follow(see)
