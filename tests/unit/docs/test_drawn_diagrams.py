"""The site's diagrams: every word of their Mermaid text is drawn, none on another, and nothing is fetched."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from sifu.docs.flowchart import draw_flowchart, read_flowchart
from sifu.docs.markdown_page import markdown_page
from sifu.docs.sequence_diagram import draw_sequence, read_sequence
from tests.conftest import REPO

DIAGRAMS = re.findall(r"^```mermaid\n(.*?)^```$", (REPO / "docs" / "design.md").read_text(), re.DOTALL | re.MULTILINE)
_BOX = re.compile(r'<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"(?: rx="\S+")? fill="Canvas"')


def drawn(text: str) -> str:
    return draw_sequence(text) if text.startswith("sequenceDiagram") else draw_flowchart(text)


def words_of(text: str) -> set[str]:
    """What the reader sees."""
    if not text.startswith("sequenceDiagram"):
        chart = read_flowchart(text)
        return {*chart.words.values(), *filter(None, chart.arrows.values())}
    names, messages, loops = read_sequence(text)
    return {*names.values(), *(message.words for message in messages), *(f"loop {words}" for words, *_ in loops)}


def test_the_design_is_drawn_and_not_printed() -> None:
    page = markdown_page((REPO / "docs" / "design.md").read_text())
    assert len(DIAGRAMS) == page.count("<svg ") == 3
    assert "mermaid" not in page
    assert not re.search(r"<svg.*?(?:href|src)=.*?</svg>", page)


@pytest.mark.parametrize("text", DIAGRAMS)
def test_every_word_is_there_once_an_arrow(text: str) -> None:
    found = re.findall(r"<text [^>]*>([^<]*)</text>", drawn(text))
    assert {word.replace("&#x27;", "'") for word in found} == words_of(text)
    arrows = len(read_sequence(text).messages) if text[0] == "s" else len(read_flowchart(text).arrows)
    assert drawn(text).count("marker-end") == arrows
    assert drawn(text) == drawn(text)


@pytest.mark.parametrize("text", DIAGRAMS)
def test_no_words_lie_on_others_or_outside(text: str) -> None:
    """Boxes, and the ground of words on arrows, one by one."""
    svg = drawn(text)
    _, _, width, height = map(float, re.search(r'viewBox="([^"]*)"', svg)[1].split())  # type: ignore[index]
    boxes = [tuple(map(float, found)) for found in _BOX.findall(svg)]
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
    for (x, y, w, h), (other_x, other_y, other_w, other_h) in combinations(boxes, 2):
        apart = x + w <= other_x or other_x + other_w <= x or y + h <= other_y or other_y + other_h <= y
        assert apart, (x, y, other_x, other_y)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flowchart LR\na --> b\nb --> a", "in a circle"),
        ("flowchart LR\na ==> b", "not an arrow"),
        ("pie\n", "not a flowchart"),
        ("sequenceDiagram\nNote over A: b", "not a line of a sequence"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        drawn(text)
