"""docs/flower.md: its code is that of the example, its options are the strategy's, its commands have real settings."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tests.conftest import REPO

PAGE = (REPO / "docs" / "flower.md").read_text()
EXAMPLE = REPO / "examples" / "flower"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for language, body in BLOCKS if language == "sh" for line in body.splitlines()]


def test_code_of_the_page_is_code_of_the_example() -> None:
    code = "".join(path.read_text() for path in (EXAMPLE / "digits").glob("*.py"))
    lines = [line for language, body in BLOCKS if language == "python" for line in body.splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert line in code


def test_options_of_the_page_are_those_of_the_strategy() -> None:
    """Read from the source: Flower may not be installed."""
    tree = ast.parse((REPO / "sifu" / "flower" / "strategy.py").read_text())
    strategy = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Unlearning")
    made = next(node for node in strategy.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    options = {argument.arg for argument in made.args.kwonlyargs}
    table = set(
        re.findall(r"^\| `(\w+)` \|", PAGE.partition("option of `Unlearning`")[2].partition("##")[0], re.MULTILINE)
    )
    assert table | {"noise_seed"} == options


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("flwr run")])
def test_runs_of_the_page_have_settings_of_the_example(command: str) -> None:
    with (EXAMPLE / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["flwr"]["app"]["config"]
    given = re.search(r'--run-config "(.*)"', command)
    assert given is not None
    for name, value in tomllib.loads(re.sub(r" (?=[\w-]+=)", "\n", given[1])).items():
        assert type(value) is type(settings[name])


def test_connections_of_the_page_are_named_in_its_settings() -> None:
    connections = tomllib.loads(next(body for language, body in BLOCKS if language == "toml"))["superlink"]
    assert {line.split()[3] for line in COMMANDS if line.startswith("flwr run")} == set(connections)
