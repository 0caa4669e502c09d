"""docs/library.md: its example is run as it stands there, and README shows some lines of it."""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np
import pytest
import torch

import sifu
from tests.conftest import REPO

pytestmark = pytest.mark.second

LIBRARY = (REPO / "docs" / "library.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", LIBRARY, re.DOTALL | re.MULTILINE)
EXAMPLE, PRINTED = BLOCKS[0][1], BLOCKS[1][1]
LINES = 12
CLOSE = 0.3  # last digits and rounds differ from machine to machine; other rules of counting differ more
_NUMBER = r"\d[\d,.]*(?<![,.])"


def without_numbers(text: str) -> str:
    return re.sub(_NUMBER, "#", text)


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(_NUMBER, text)]


def test_the_example_is_short_and_its_middle_stands_in_the_readme() -> None:
    assert len(EXAMPLE.splitlines()) <= LINES
    shown = (REPO / "README.md").read_text().partition("(docs/library.md) has")[2].split("```")[1].splitlines()[1:]
    assert shown[:2] == ["import sifu", ""]
    assert len(shown[2:]) == 3
    assert "\n".join(shown[2:]) in EXAMPLE


def test_the_example_prints_what_the_page_says() -> None:
    output, names = io.StringIO(), {}
    with contextlib.redirect_stdout(output):
        exec(compile(EXAMPLE, "docs/library.md", "exec"), names)
    assert without_numbers(output.getvalue()) == without_numbers(PRINTED)
    np.testing.assert_allclose(numbers(output.getvalue()), numbers(PRINTED), rtol=CLOSE)
    training, again = names["training"], names["again"]
    assert isinstance(training, sifu.Training)
    assert training.status == ("done",) * 3
    assert (training.accuracy.retain >= 0.85).all()
    assert again.number == 2
    assert again.module(2)(again.inputs(names["images"][0])).shape == (50, 10)


def test_the_other_blocks_work() -> None:
    """They go on from the example, here on less: two classes, few rounds."""
    images, labels = [torch.randn(12, 784) for _ in range(20)], [torch.arange(12) % 10 for _ in range(20)]
    quick = {"max_rounds": 2, "min_rounds": 0, "seeds": [0], "progress": False, "device": "cpu"}

    class Quick:
        @staticmethod
        def train(images: object, labels: object, **given: object) -> sifu.Training:
            return sifu.train(images, labels, **(quick | given))  # type: ignore[arg-type]

    output, names = io.StringIO(), {"sifu": Quick, "torch": torch, "images": images, "labels": labels}
    with contextlib.redirect_stdout(output):
        for language, code in BLOCKS[2:]:
            assert language == "python"
            exec(compile(code, "docs/library.md", "exec"), names)
    assert output.getvalue().count("Request 1: client 13 forgotten by ") == 5


@pytest.mark.parametrize("name", [name for name in dir(sifu.Answer) if not name.startswith("_")])
def test_the_page_names_all_that_an_answer_has(name: str) -> None:
    inner = {"setup", "lineage", "work", "asked", "answered", "seeds"}
    assert name in inner or re.search(rf"`{name}\b", LIBRARY)
