"""What is read executes nothing, and names and paths of a config stay where they belong (docs/security.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml

from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError, SifuError
from sifu.plan.load import load_suite, read_named
from sifu.report.tables import latex, markdown
from tests.conftest import REPO

PLAIN = {"scenarios": ["smoke"], "variants": ["scratch"]}
EXECUTES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
CALLS = {"eval", "exec", "compile", "__import__"}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((REPO / "sifu").rglob("*.py")):
        yield str(path.relative_to(REPO)), ast.parse(path.read_text())


def imported(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).split(".")[0])
    return found


def called(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_nothing_is_unpickled() -> None:
    assert {name for name, tree in sources() if imported(tree) & EXECUTES} == set()
    for name, tree in sources():
        for function, call in called(tree):
            last, options = function.rpartition(".")[2], {word.arg: ast.unparse(word.value) for word in call.keywords}
            assert function not in CALLS, f"{name} calls {function}"
            assert function not in ("torch.load", "torch.hub.load", "pickle.load", "pickle.loads"), name
            assert last != "read_pickle", name
            assert options.get("allow_pickle") != "True", name
            assert options.get("shell") != "True", name


def test_yaml_is_read_by_the_safe_loader() -> None:
    """Which knows no tag that makes a Python object."""
    loads = ("yaml.load", "yaml.unsafe_load", "yaml.full_load")
    found = [(name, call) for name, tree in sources() for function, call in called(tree) if function in loads]
    assert found
    for name, call in found:
        assert [ast.unparse(argument) for argument in call.args[1:]] == ["_StrictLoader"], name


def test_a_config_that_makes_an_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text(f"a: !!python/object/apply:os.system ['touch {tmp_path}/made']\n")
    with pytest.raises(SifuError, match="is not valid YAML"):
        read_named(Scenario, tmp_path / "scenarios.yaml", "scenarios")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "results", ["/tmp/x", "..", "a/../../b", "a/..", "", "~/x", "a;b", "$(a)", "`a`", "a|b", "a\nb", "{a}", "-n", "a*"]
)
def test_results_stay_inside_the_project(results: str) -> None:
    with pytest.raises(ConfigError, match=r"^results: .* is refused; allowed: a folder inside this one"):
        load_suite(PLAIN | {"results": results}, REPO / "config", {})


def test_ordinary_folders_are_fine() -> None:
    for results in ("results", "results/smoke", "my results", ".", "run_2.1/a-b"):
        assert load_suite(PLAIN | {"results": results}, REPO / "config", {}).run.results == results


@pytest.mark.parametrize("name", ["..", "a/b", "a b", "a;b", "$(x)", "`x`", "{x}", "-x", "A", "", "a\n", "a'b", "a*"])
@pytest.mark.parametrize("file", ["scenarios", "variants"])
def test_names_that_become_folders(tmp_path: Path, name: str, file: str) -> None:
    (tmp_path / "x.yaml").write_text(yaml.safe_dump({name: {}}))
    with pytest.raises(ConfigError, match="is refused; allowed: names of lower case letters"):
        read_named(Scenario, tmp_path / "x.yaml", file)
    change = {"name": name, "label": "x", "change": {"momentum": 0.0}}
    with pytest.raises(ConfigError, match=r"name: .* is refused"):
        build(Run, PLAIN | {"alpha_sweep": {"scenarios": ["smoke"], "federations": [change]}}, "")


def test_a_label_is_text_everywhere() -> None:
    """In the report's tables, too: the page is tested with the stages and in a browser."""
    bad = r"<script>alert(1)</script> \input{/etc/passwd} a|b"
    suite = load_suite(PLAIN, REPO / "config", {})
    suite = replace(suite, variants={"scratch": replace(suite.variants["scratch"], label=bad)})
    table = pd.DataFrame({"method": [suite.report_plan().labels["scratch"]]})
    assert r"\input{" not in latex(table, "caption")
    assert r"a\|b" in markdown(table, "caption")
