"""The commands that a page shows: of published results those that work in a fresh clone, of others the config's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sifu.catalog.figures import FIGURES
from sifu.cli.main import main, parser
from sifu.replication.claims.commands import redraw_figure
from sifu.replication.published import CONFIG, REPLICATION


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the page would be made of."""
    given: list[Any] = []
    monkeypatch.setattr("sifu.stages.page.run_page", lambda *words: given.extend(words))
    monkeypatch.setattr("sifu.replication.strip.claim_rows", lambda *_: [])
    monkeypatch.setattr("sifu.report.results.Results", lambda plan: SimpleNamespace(all_planned=list))
    return given


def plan_of(monkeypatch: pytest.MonkeyPatch, results: str) -> None:
    monkeypatch.setattr("sifu.cli.report._plan", lambda _: SimpleNamespace(results=results, titles={}))


def test_published_figures_are_drawn_again_from_their_tables(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`make paper` refuses a clone, which has tables and no trainings."""
    plan_of(monkeypatch, str(REPLICATION))
    assert main(["page", "--config", str(CONFIG), "--command", "make paper"]) == 0
    _, _, command, _, cell, draw = shown
    assert draw("sigma") == ".venv/bin/python -m sifu figure sigma --config config/paper.yaml"
    assert command.startswith("rm -r results/paper;")
    assert "verify-paper" in cell("mnist", "sifu")


def test_figures_of_another_run_are_those_of_its_config(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plan_of(monkeypatch, "results")
    assert main(["page", "--config", "config/smoke.yaml"]) == 0
    _, _, command, _, cell, draw = shown
    assert draw("sigma").endswith("sifu figure sigma --config config/smoke.yaml")
    assert (command, cell) == ("make", None)


def test_in_the_workflow_its_own_command_makes_them(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plan_of(monkeypatch, "results")
    assert main(["page", "--plan", "plan.json", "--command", "snakemake"]) == 0
    assert shown[-1] is None


@pytest.mark.parametrize("name", FIGURES)
def test_the_command_line_takes_the_command_of_a_figure(name: str) -> None:
    parsed = parser().parse_args(redraw_figure(name).partition("-m sifu ")[2].split())
    assert (parsed.names, parsed.config) == ([name], Path("config/paper.yaml"))
    assert parsed.config == CONFIG
