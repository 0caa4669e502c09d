"""The catalogs: a wrong entry is one sentence that names the file and the line, and so is a missing one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.catalog import unlisted
from sifu.catalog.figures import FIGURES, FigureSpec
from sifu.catalog.lookup import place, resolve
from sifu.catalog.methods import METHODS
from sifu.catalog.metrics import METRICS
from sifu.catalog.models import MODELS
from sifu.catalog.unlisted import missing_line
from sifu.errors import SifuError, did_you_mean
from sifu.plan.catalog_check import check_catalogs


def test_a_close_name_is_suggested_and_a_distant_one_is_not() -> None:
    assert did_you_mean("sfu", METHODS) == " (did you mean sifu?)"
    assert did_you_mean("gpu", ("auto", "cpu", "cuda")) == " (did you mean cuda?)"
    assert did_you_mean("nothing", METHODS) == ""


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("sifu.methods.sifu.Sifu", 'must be "module:name", such as "sifu.methods.sifu:Sifu"'),
        ("sifu.methods.sifu:", 'must be "module:name"'),
        ("sifu.methods.foo:Foo", "does not exist, as there is no module sifu.methods.foo"),
        ("sifu.methods.sifu:Foo", "does not exist, as sifu.methods.sifu has nothing called Foo"),
    ],
)
def test_a_wrong_entry(target: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SifuError) as caught:
        resolve(target)
    assert words in str(caught.value)
    monkeypatch.setitem(METRICS, "tried", target)
    with pytest.raises(SifuError) as planned:
        check_catalogs()
    assert str(planned.value) == str(caught.value), "refused with the plan in the same words"


def test_an_entry_is_found_again() -> None:
    file, line = place(METHODS["sifu"]).split(", line ")
    assert '"sifu": ' in (Path(unlisted.__file__).parents[2] / file).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nothing_like_it", "ModuleNotFoundError: No module named 'nothing_like_it' "),
        ("x = 1\ny = z", r"NameError: name 'z' is not defined .*tried_module\.py, line 2"),
        ("x = (", r"SyntaxError: .*tried_module\.py, line 1"),
    ],
)
def test_a_module_that_fails(text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tried_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SifuError, match=f"importing tried_module failed with {words}"):
        resolve("tried_module:Foo")


def test_a_figure_needs_its_parts_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    check_catalogs()
    monkeypatch.setitem(FIGURES, "tried", FigureSpec("sifu.report.figures.style"))
    with pytest.raises(SifuError, match=r"sifu\.report\.figures\.style has nothing called TITLE"):
        check_catalogs()
    monkeypatch.setitem(FIGURES, "tried", FigureSpec("sifu.report.figures.alpha", ("alpha/alhpa",)))
    with pytest.raises(SifuError, match=r"is no table that a stage writes \(did you mean alpha/alpha\?\)"):
        check_catalogs()


FILES = {
    "methods": 'class Foo(Method):\n    name = "foo"\n',
    "metrics": "def foo(models): ...\n",
    "models": "class foo(nn.Module): ...\n",
    "datasets": "def load(name, root): ...\n",
    "figures": 'TITLE = ""\ndef draw(results): ...\n',
}
LINES = {
    "methods": '"foo": "sifu.methods.foo:Foo",',
    "metrics": '"foo": "sifu.metrics.foo:foo",',
    "models": '"foo": ModelSpec("sifu.models.foo:foo"),',
    "datasets": 'Source("sifu.data.foo:load")',
    "figures": '"foo": FigureSpec("sifu.report.figures.foo"),',
}


@pytest.mark.parametrize("catalog", FILES)
def test_a_missing_line_is_spelt_out(catalog: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlisted, "_PACKAGE", tmp_path / "sifu")
    assert missing_line(catalog, "foo") == ""
    file = tmp_path / "sifu" / unlisted._FOLDERS[catalog] / "foo.py"
    file.parent.mkdir(parents=True)
    file.write_text(FILES[catalog])
    sentence = missing_line(catalog, "foo")
    assert f"{file.relative_to(tmp_path)} has foo, but no line of sifu/catalog/{catalog}.py does: add `" in sentence
    assert LINES[catalog] in sentence
    assert missing_line(catalog, "fo") == ""


def test_every_file_of_a_method_and_of_a_figure_has_its_line() -> None:
    """The other folders also hold what several of them share."""
    package = Path(unlisted.__file__).parents[1]
    methods = {target.partition(":")[0].rpartition(".")[2] for target in METHODS.values()}
    assert {path.stem for path in (package / "methods").glob("[a-z]*.py")} == methods
    drawn = {path.stem for path in (package / "report/figures").glob("[a-z]*.py") if "\ndef draw(" in path.read_text()}
    assert drawn == set(FIGURES)
    assert all(missing_line("models", name) for name in MODELS if name != "logistic"), "it finds what is there"
