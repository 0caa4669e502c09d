"""The diagrams of docs/design.md draw the stages and layers that exist."""

from __future__ import annotations

import re
import tomllib

from sifu.plan.stage_spec import STAGES
from tests.conftest import REPO

DIAGRAMS = re.findall(r"^```mermaid\n(.*?)^```$", (REPO / "docs" / "design.md").read_text(), re.DOTALL | re.MULTILINE)


def arrows(diagram: str) -> set[tuple[str, str]]:
    """Its arrows, without labels."""
    plain = re.sub(r"\[.*?\]|\(.*?\)|-- .*? -->", lambda found: "-->" if "-->" in found[0] else "", diagram)
    return set(re.findall(r"(\w+) *--> *(\w+)", plain))


def test_every_stage_is_drawn() -> None:
    drawn = {name for arrow in arrows(DIAGRAMS[0]) for name in arrow} - {"dataset", "html"}
    expected = {spec.folder or name for name, spec in STAGES.items()} | {"report", "figure", "page"}
    assert drawn == expected


def test_layers_are_those_of_the_contract() -> None:
    """Every arrow leads from a layer to the next lower one, and no package is left out."""
    with (REPO / "pyproject.toml").open("rb") as file:
        contract = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]
    heights = {name: place for place, layer in enumerate(contract["layers"]) for name in layer.split(" | ")}
    drawn = arrows(DIAGRAMS[2])
    assert {name for arrow in drawn for name in arrow} == set(heights)
    assert {heights[low] - heights[high] for high, low in drawn} == {1}
