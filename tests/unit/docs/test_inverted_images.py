"""The lines on NoT and inverted images."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sifu.docs import inverted_images as part
from tests.conftest import REPO
from tests.unit.report.test_inverted import tables

_WORDS = "- MNIST, server data: NoT 0.00 / 0.90; scratch 0.00 / 0.10. Others that stand out: Subtract (Wu et al.)."


def test_a_line_a_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"scratch": (0.0, 0.1), "negation": (0.0, 0.9), "subtract": (0.0, 0.6), "fine_tuning": (0.9, 0.5)}
    cells, metrics = (
        table.assign(scenario="mnist_server")
        for table in tables({name: ((one, one), (other, other)) for name, (one, other) in known.items()})
    )
    run: Any = SimpleNamespace(folder=Path("none"))
    monkeypatch.setattr(part, "read_tables", lambda _: SimpleNamespace(cells=cells, metrics=metrics))
    assert part.inverted_images(REPO, run) == _WORDS
    monkeypatch.setattr(part, "read_tables", lambda _: SimpleNamespace(cells=cells[:0], metrics=metrics[:0]))
    assert part.inverted_images(REPO, run) == "no scenario in which NoT stands out has been run yet."
