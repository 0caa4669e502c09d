"""What other packages bring: found by metadata or as "module:name", and refused in one sentence where it is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sifu.catalog.datasets import DATASETS, DatasetSpec, Source
from sifu.catalog.entry_points import brought
from sifu.catalog.lookup import refuse_missing
from sifu.catalog.methods import METHODS
from sifu.catalog.models import MODELS, ModelSpec
from sifu.cli.main import main
from sifu.config.known import known
from sifu.config.scenario import Scenario
from sifu.errors import SifuError
from sifu.plan.freshness import relevant_settings
from sifu.plan.load import load_suite, read_yaml
from sifu.plan.method_check import method_class
from sifu.plan.model_check import Planned
from tests.conftest import REPO, one_sentence
from tests.fake_packages import write_metadata, write_package


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages; nothing of it is left afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = set(sys.modules)
    brought.cache_clear()
    yield tmp_path
    for name in set(sys.modules) - modules:
        if name.startswith(("outside_", "catalog_")):
            del sys.modules[name]
    brought.cache_clear()
    method_class.cache_clear()


def test_an_entry_point_is_an_entry(site: Path) -> None:
    write_package(site, "outside_entry")
    write_metadata(
        site, "somebodys", methods="mine = outside_entry.forget:Mine", models="small = outside_entry.nets:small [fast]"
    )
    assert METHODS["mine"] == "outside_entry.forget:Mine"
    assert MODELS["small"] == ModelSpec("outside_entry.nets:small")
    assert list(METHODS) == [*METHODS.own, "mine"]
    assert method_class("mine").name == "mine"
    assert METHODS.target("mine") == "outside_entry.forget:Mine"
    assert METHODS.target("sifu") is None


def test_an_entry_that_stands_for_another_object_makes_results_stale(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of its module is the same, and so is its name."""
    write_package(site, "outside_moved")
    asked = []
    for target in ("small", "too_many"):
        brought.cache_clear()
        write_metadata(site / target, "moved", models=f"net = outside_moved.nets:{target}")
        monkeypatch.syspath_prepend(site / target)
        scenario = replace(a_scenario(), model="net")
        asked.append((relevant_settings("train", scenario), Planned("net", (1, 28, 28), 10).state))
        assert "model_entry" not in relevant_settings("partition", scenario)
    assert asked[0][0]["model_entry"] == "outside_moved.nets:small"
    assert asked[1][0]["model_entry"] == "outside_moved.nets:too_many"
    assert asked[0][1] != asked[1][1]
    named = replace(a_scenario(), model="outside_moved.nets:small")
    assert relevant_settings("train", named).keys() == relevant_settings("train", a_scenario()).keys()


def a_scenario() -> Scenario:
    return load_suite(read_yaml(REPO / "config" / "smoke.yaml"), REPO / "config", {}).scenarios["smoke"]


def test_listing_imports_nothing(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "outside_heavy.py").write_text("raise RuntimeError('imported')\n\n\ndef net(shape, num_classes): ...\n")
    write_metadata(site, "heavy", models="net = outside_heavy:net")
    assert "net" in MODELS
    assert MODELS["net"].builder == "outside_heavy:net"
    assert known(MODELS).test("outside_heavy:net")
    assert main(["plugins"]) == 0
    assert "models    net                      outside_heavy:net (heavy)" in capsys.readouterr().out
    assert "outside_heavy" not in sys.modules


def test_without_any_plugin_it_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    assert "docs/plugins.md" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("packages", "name", "words"),
    [
        ({"one": "sifu"}, "sifu", "by sifu/catalog/methods.py and by one_pkg:Mine of the package one: uninstall"),
        ({"one": "mine", "two": "mine"}, "mine", "by one_pkg:Mine of the package one and by two_pkg:Mine of the pack"),
    ],
)
def test_a_name_in_two_places_is_refused(packages: dict[str, str], name: str, words: str, site: Path) -> None:
    for package, entry in packages.items():
        write_metadata(site, package, methods=f"{entry} = {package}_pkg:Mine")
    assert METHODS["scratch"], "others can be used"
    with pytest.raises(SifuError, match=f"the name {name} \\(methods\\) is taken twice, {words}"):
        METHODS[name]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("outside_bad.nets:smal", "as outside_bad.nets has nothing called smal"),
        ("outside_bad.net:small", "as there is no module outside_bad.net"),
        ("outside_nobody.nets:small", "as there is no module outside_nobody"),
        ("outside_bad.nets.small", "(did you mean outside_bad.nets:small?)"),
        ("outside_bad:nets:small", 'must be "module:name"'),
        ("outside_bad.nets:", 'must be "module:name"'),
        ("\x00:x", 'must be "module:name"'),
        ("outside_folder:x", "as outside_folder is a folder, not a module"),
        ("outside_folder.nets:x", "no module outside_folder.nets (Python takes the folder "),
        ("outside_syntax:x", "outside_syntax.py, line 1: "),
        ("lgistic", "(did you mean logistic?)"),
    ],
)
def test_a_name_that_does_not_exist(value: str, words: str, site: Path) -> None:
    write_package(site, "outside_bad")
    (site / "outside_folder").mkdir()
    (site / "outside_syntax.py").write_text("x = (\n")
    allowed = known(MODELS)
    assert not allowed.test(value)
    assert words in allowed.hint(value)


def test_names_that_an_import_may_give_or_another(site: Path) -> None:
    write_package(site, "outside_tries")
    lines = ["try:", "    from nowhere import small", "except ImportError:", "    from outside_tries.nets import small"]
    lines += ["if True:", "    class Inner: ...", "import os.path"]
    (site / "outside_tried.py").write_text("\n".join(lines))
    for name in ("small", "Inner", "os"):
        refuse_missing(f"outside_tried:{name}")
    with pytest.raises(SifuError, match="has nothing called nowhere"):
        refuse_missing("outside_tried:nowhere")


@pytest.mark.parametrize("value", [None, 3, ["a:b"], {"a": 1}])
def test_values_that_are_no_names(value: Any) -> None:
    assert value not in MODELS


def test_what_only_an_import_can_tell(site: Path) -> None:
    write_package(site, "outside_star")
    (site / "outside_all.py").write_text("from outside_star.nets import *\n")
    assert known(MODELS).test("outside_all:small")
    assert MODELS["outside_all:small"] == ModelSpec("outside_all:small")
    with pytest.raises(SifuError, match=r"outside_star\.nets:NUMBER is no model: name a function or class"):
        MODELS["outside_star.nets:NUMBER"]


def test_facts_about_a_model_come_with_it(site: Path) -> None:
    text = "from sifu.catalog.models import ModelSpec\nNET = ModelSpec('outside_spec:net', (1, 8, 8))\n"
    (site / "outside_spec.py").write_text(text)
    assert MODELS["outside_spec:NET"] == ModelSpec("outside_spec:net", (1, 8, 8))


def test_a_dataset_is_a_spec(site: Path) -> None:
    text = """
from sifu.catalog.datasets import DatasetSpec, Source
SPEC = DatasetSpec((1, 2, 2), 2, (0.5,), (0.5,), {"embedded": Source("outside_data:load")})
OTHER = 3
"""
    (site / "outside_data.py").write_text(text)
    source = Source("outside_data:load")
    assert DATASETS["outside_data:SPEC"] == DatasetSpec((1, 2, 2), 2, (0.5,), (0.5,), {"embedded": source})
    with pytest.raises(SifuError, match="outside_data:OTHER is no dataset: make it a DatasetSpec"):
        DATASETS["outside_data:OTHER"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ('name = "sifu"', "which is the name of sifu.methods.sifu:Sifu: choose another one"),
        ('name = "Big Name"', "give it one of lower case letters, digits and _"),
        ("pass", "it has no name: give it one"),
    ],
)
def test_the_name_of_a_method_from_outside(name: str, words: str, site: Path) -> None:
    text = (write_package(site, "outside_named") / "forget.py").read_text()
    (site / "outside_named" / "forget.py").write_text(text.replace('name = "mine"', name))
    with pytest.raises(SifuError, match=words):
        method_class("outside_named.forget:Mine")


def test_an_entry_point_that_leads_nowhere_is_named(site: Path) -> None:
    write_metadata(site, "lost", models="net = outside_lost:net")
    with pytest.raises(
        SifuError, match=r"the entry point net \(sifu.models\) of the package lost: .* no module outside"
    ):
        MODELS["net"]


@pytest.mark.parametrize("text", ["raise SystemExit(0)\n", "import sys\nsys.exit()\n", "def main(): exit(0)\nmain()\n"])
def test_a_module_that_ends_python_is_named(text: str, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script whose last line is not guarded, say: nothing would be printed, and the exit code would be 0."""
    folder = write_package(site, "outside_ends")
    (folder / "forget.py").write_text(text + (folder / "forget.py").read_text())
    assert main(["check-method", "outside_ends.forget:Mine"]) == 2
    said = one_sentence(capsys)
    assert "importing outside_ends.forget failed with SystemExit" in said
    assert "which would end Python: put what runs a script under `if __name__" in said
    assert f"({folder / 'forget.py'}, line {text.count(chr(10)) if 'def' not in text else 1})" in said


def test_a_module_of_the_current_folder_is_found(tmp_path: Path) -> None:
    """Also by a program that does not look there by itself, as Snakemake and the command `sifu` do not."""
    write_package(tmp_path / "here", "outside_here")
    code = "from sifu.catalog.lookup import resolve; print(resolve('outside_here.forget:Mine').name)"
    command, environment = [sys.executable, "-P", "-c", code], os.environ | {"PYTHONPATH": str(REPO)}
    done = subprocess.run(command, cwd=tmp_path / "here", env=environment, capture_output=True, text=True)
    assert done.stdout == "mine\n", done.stderr
