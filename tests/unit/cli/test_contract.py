"""Checks of a method, metric or model of one's own, from the command line and without the tests of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.cli.main import main
from sifu.contract.method_checks import CHECKS
from tests.conftest import one_sentence
from tests.fake_packages import METHOD, write_package

PACKAGE = "outside_checked"
FACTOR = """
from sifu.config.fields import above, setting
from sifu.unlearning.method import Assumptions, Method


class Factor(Method):
    name = "factor"
    assumptions = Assumptions(reference="us")
    factor: float = setting("what weights are multiplied by", above(0))

    def unlearn(self, history, request, server, keys):
        return server.recover(history.current * self.factor, keys)
"""
METRICS = '''
def good(models):
    """Correct answers."""
    return {"retain": models.correct.sum(1).double()}


def bad(models):
    return {"retain": models.correct.sum().double()}
'''


LEAVES = """
import sys


def net(shape, num_classes):
    sys.exit(0)


def metric(models):
    sys.exit(0)


def nothing(shape, num_classes):
    pass


def number(shape, num_classes):
    return 3
"""


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checked")
    folder = write_package(root, PACKAGE)
    broken = METHOD.replace("class Mine", "class Broken").replace("changed(history.current), keys", "nothing, keys")
    same = METHOD.replace("class Mine", "class Same").replace("server.recover(changed(", "server.hold((")
    (folder / "wrong.py").write_text(broken + same)
    (folder / "factor.py").write_text(FACTOR)
    (folder / "metrics.py").write_text(METRICS)
    (folder / "leaves.py").write_text(LEAVES)
    return root


@pytest.fixture(autouse=True)
def _here(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the user's folder; its modules are found there."""
    monkeypatch.chdir(package)
    monkeypatch.syspath_prepend(package)


def test_a_method_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", f"{PACKAGE}.forget:Mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS)
    assert all(line.split()[-1] == "ok" for line in lines)
    assert lines[2].startswith("seed by seed ")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Same", "not a no op                      the model of some seed came back unchanged from request 1"),
        ("Broken", "shape                            it failed with NameError: name 'nothing' is not defined ("),
    ],
)
def test_a_method_that_is_broken(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", f"{PACKAGE}.wrong:{name}"]) == 1
    shown = capsys.readouterr()
    assert words in shown.out
    assert "Traceback" not in shown.out + shown.err


def test_a_method_with_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", f"{PACKAGE}.factor:Factor"]) == 2
    assert "method.factor: None is refused; allowed: it must be given" in one_sentence(capsys)
    assert main(["check-method", f"{PACKAGE}.factor:Factor", "--set", "factor=0.5"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check-method", "zzz"], "method: 'zzz' is refused; allowed: original |"),
        (["check-method", f"{PACKAGE}.nets:small"], "it is no method: write `class ...(Method)`"),
        (["check-method", f"{PACKAGE}.forget:Mein"], "has nothing called Mein"),
        (["check-method", "sifu", "--set", "sigma"], "--set: 'sigma' is refused; allowed: KEY=VALUE"),
        (["check-method", "sifu", "--set", "sigma=["], "--set: 'sigma=[' is refused; allowed: KEY=VALUE with a value"),
        (["check-model", f"{PACKAGE}.nets:broken"], "cannot be built: ZeroDivisionError"),
        (
            ["check-model", f"{PACKAGE}.leaves:net"],
            "cannot be built: SystemExit: 0, which would end Python: do not call sys.exit in it (",
        ),
        (["check-model", f"{PACKAGE}.nets:small", "--shape", "1,28"], "--shape: '1,28' is refused; allowed: channels"),
        (["check-model", "logistic", "--classes", "1"], "--classes: 1 is refused; allowed: 2 or more"),
        (["check-metric", f"{PACKAGE}.nets:NUMBER"], "is no metric: name a function"),
    ],
)
def test_what_is_refused_is_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert words in one_sentence(capsys)


def test_models_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-model", f"{PACKAGE}.nets:small", "--shape", "1,8,8", "--classes", "3"]) == 0
    assert "examples                         ok" in capsys.readouterr().out
    assert main(["check-model", f"{PACKAGE}.nets:with_statistics"]) == 1
    assert f"layers                           model {PACKAGE}.nets:with_statistics contains" in capsys.readouterr().out
    assert main(["check-model", "cnn28"]) == 0


@pytest.mark.parametrize(("name", "given"), [("nothing", "is None"), ("number", "is a int")])
def test_what_is_no_model_is_one_line(name: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The other checks would fail on what they need, not on what is wrong."""
    assert main(["check-model", f"{PACKAGE}.leaves:{name}"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line == f"{'layers':<32} model {PACKAGE}.leaves:{name} {given}, not a torch.nn.Module"


def test_metrics_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-metric", f"{PACKAGE}.metrics:good"]) == 0
    assert main(["check-metric", f"{PACKAGE}.leaves:metric"]) == 1
    assert (
        "it failed with SystemExit: 0, which would end Python: do not call sys.exit in it (" in capsys.readouterr().out
    )
    assert main(["check-metric", f"{PACKAGE}.metrics:bad"]) == 1
    shown = capsys.readouterr().out
    assert "shape                            give back one number for each seed, [S]" in shown
    assert "words                            say in the docstring" in shown
