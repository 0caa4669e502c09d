"""A Mermaid sequence diagram as SVG: who asks whom for what, from top to bottom."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from sifu.docs.svg import Svg, text_width

_STEP = 34.0  # dots between two messages
_TOP = 30.0  # dots: a box with a name
_PARTICIPANT = re.compile(r"participant (\w+) as (.+)")
_MESSAGE = re.compile(r"(\w+)(--?)>>(\w+): (.+)")


class Message(NamedTuple):
    """An arrow with words; an answer is dashed."""

    first: str
    last: str
    words: str
    dashed: bool


class Sequence(NamedTuple):
    """Names of participants, messages, and loops: words, first and last message."""

    names: dict[str, str]
    messages: list[Message]
    loops: list[tuple[str, int, int]]


def read_sequence(text: str) -> Sequence:
    """The diagram of a Mermaid text; what is not understood is refused."""
    head, *lines = [line.strip() for line in text.strip().splitlines()]
    if head != "sequenceDiagram":
        raise ValueError(f"not a sequence diagram: {head}")
    names: dict[str, str] = {}
    messages: list[Message] = []
    loops: list[tuple[str, int, int]] = []
    opened: list[tuple[str, int]] = []
    for line in lines:
        if found := _PARTICIPANT.fullmatch(line):
            names[found[1]] = found[2]
        elif found := _MESSAGE.fullmatch(line):
            messages.append(Message(found[1], found[3], found[4], found[2] == "--"))
        elif line.startswith("loop "):
            opened.append((line.removeprefix("loop "), len(messages)))
        elif line == "end":
            loops.append((*opened.pop(), len(messages) - 1))
        else:
            raise ValueError(f"not a line of a sequence diagram: {line}")
    return Sequence(names, messages, loops)


def draw_sequence(text: str) -> str:
    """The diagram as an SVG element."""
    found = read_sequence(text)
    places, width = _columns(found)
    levels = _levels(found)
    bottom = levels[-1] + 24
    svg = Svg(width, bottom + 4)
    for name, words in found.names.items():
        svg.line(places[name], _TOP, bottom)
        svg.box(places[name], _TOP / 2 + 1, text_width(words) + 18, _TOP - 2, words)
    for (first, last, words, dashed), y in zip(found.messages, levels, strict=True):
        if first == last:
            svg.arrow((places[first], y - 6), (places[first] + 22, y), (places[first] + 2, y + 6))
            svg.text(places[first] + 30 + text_width(words, small=True) / 2, y, words, small=True)
        else:
            back = 2 if places[first] < places[last] else -2
            svg.arrow((places[first], y + 7), (places[last] - back, y + 7), dashed=dashed)
            svg.text((places[first] + places[last]) / 2, y - 4, words, small=True)
    for words, begin, end in found.loops:
        ends = [places[name] for one in found.messages[begin : end + 1] for name in one[:2]]
        left, right = min(ends) - 70, max(ends) + 70
        top = levels[begin] - _STEP - 2
        svg.frame(left, top, right - left, levels[end] + 18 - top)
        svg.text(left + 8 + text_width(f"loop {words}", small=True) / 2, top + 10, f"loop {words}", small=True)
    return str(svg)


def _columns(found: Sequence) -> tuple[dict[str, float], float]:
    """Where each participant stands: the words of messages between neighbours fit; and the width of all."""
    names = list(found.names)
    gaps = [
        max(
            (text_width(found.names[one]) + text_width(found.names[other])) / 2 + 36,
            *(text_width(m.words, small=True) + 24 for m in found.messages if {m.first, m.last} == {one, other}),
            *(text_width(m.words, small=True) + 50 for m in found.messages if m.first == m.last == one),
            0.0,
        )
        for one, other in pairwise(names)
    ]
    at = text_width(found.names[names[0]]) / 2 + 12
    places = {names[0]: at}
    for name, gap in zip(names[1:], gaps, strict=True):
        places[name] = at = at + gap
    return places, at + max(text_width(found.names[names[-1]]) / 2 + 12, 74)


def _levels(found: Sequence) -> list[float]:
    """How far down each message stands; a loop's words have a line of their own."""
    begins, ends = {first for _, first, _ in found.loops}, {last + 1 for *_, last in found.loops}
    levels, y = [], _TOP + 2
    for place in range(len(found.messages)):
        y += _STEP * (2 if place in begins else 1) + (8 if place in ends else 0)
        levels.append(y)
    return levels
