"""A Mermaid flowchart as SVG: nodes in ranks along the arrows, each arrow in the room between two ranks.

Written by hand: the static site loads nothing from elsewhere, as Mermaid's script would be, and its own renderer needs
Node and a browser, which the suite does without. It reads only what the diagrams of docs/design.md use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from sifu.docs.svg import Svg, text_width

_SHAPE = r'(\w+)(?:\["([^"]+)"\]|\[\(([^()]+)\)\])?'  # a, a["label"], a[(file)]
_ARROW = re.compile(rf'{_SHAPE}\s+(?:-->|--\s+"?([^">]+?)"?\s+-->)\s+{_SHAPE}')
_HIGH, _APART, _LEAST_GAP = 28, 20, 34  # dots: of a node, between neighbours, between ranks
_LINE = 14.0  # dots: of a word's height
_PARTS = (
    0.5,
    0.6,
    0.4,
    0.55,
    0.45,
    0.65,
    0.35,
    0.7,
    0.3,
    0.75,
    0.25,
)  # of the way to the next rank: where words may stand
_SWEEPS = 12  # over all ranks, in which nodes move next to those that they are joined to


class Flowchart(NamedTuple):
    """Nodes with their words, those that are files, and arrows with theirs."""

    across: bool  # from left to right, otherwise down
    words: dict[str, str]
    files: set[str]
    arrows: dict[tuple[str, str], str]


Point = tuple[float, float]


class Layout(NamedTuple):
    """Ranks from first to last; a long arrow passes a bend, `(from, to, rank)`, in every rank between its ends."""

    ranks: list[list[object]]
    ways: dict[tuple[str, str], list[object]]  # arrow -> what it passes, ends included


def read_flowchart(text: str) -> Flowchart:
    """The chart of a Mermaid text; what is not understood is refused."""
    head, *lines = [line.strip() for line in text.strip().splitlines()]
    kind = re.fullmatch(r"flowchart (LR|TB)", head)
    if not kind:
        raise ValueError(f"not a flowchart: {head}")
    chart = Flowchart(kind[1] == "LR", {}, set(), {})
    for line in lines:
        found = _ARROW.fullmatch(line)
        if not found:
            raise ValueError(f"not an arrow: {line}")
        first, first_words, first_file, words, last, last_words, last_file = found.groups()
        for name, label, file in ((first, first_words, first_file), (last, last_words, last_file)):
            if label or file or name not in chart.words:
                chart.words[name] = label or file or name
            chart.files.update([name] if file else [])
        chart.arrows[first, last] = words or ""
    return chart


def draw_flowchart(text: str) -> str:
    """The chart as an SVG element."""
    chart = read_flowchart(text)
    layout = _in_order(_layout(chart))
    centres, sizes, (along, wide) = _places(chart, layout)
    svg = Svg(*((along, wide) if chart.across else (wide, along)))
    ways = {arrow: _points(way, centres, sizes, across=chart.across) for arrow, way in layout.ways.items()}
    for points in ways.values():
        svg.arrow(*points, across=chart.across)
    for (x, y), words in _labels(chart, ways, [(centres[name], sizes[name]) for name in chart.words]):
        svg.text(x, y, words, small=True)
    for name, words in chart.words.items():
        svg.box(*centres[name], *sizes[name], words, round_ends=name in chart.files)
    return str(svg)


def _layout(chart: Flowchart) -> Layout:
    """A node stands a rank behind the last of those that lead to it."""
    rank = dict.fromkeys(chart.words, 0)
    for _ in chart.words:
        for first, last in chart.arrows:
            rank[last] = max(rank[last], rank[first] + 1)
    if max(rank.values()) >= len(rank):
        raise ValueError("the arrows of a flowchart go in a circle")
    ranks: list[list[object]] = [[] for _ in range(max(rank.values()) + 1)]
    for name, place in rank.items():
        ranks[place].append(name)
    ways: dict[tuple[str, str], list[object]] = {}
    for first, last in chart.arrows:
        bends: list[object] = [(first, last, place) for place in range(rank[first] + 1, rank[last])]
        for place, bend in enumerate(bends, start=rank[first] + 1):
            ranks[place].append(bend)
        ways[first, last] = [first, *bends, last]
    return Layout(ranks, ways)


def _in_order(layout: Layout) -> Layout:
    """The same with the nodes of a rank sorted by the mean place of those that they are joined to."""
    joined = defaultdict(list)
    for way in layout.ways.values():
        for one, other in pairwise(way):
            joined[one, 1].append(other)
            joined[other, -1].append(one)
    ranks = [list(rank) for rank in layout.ranks]
    for sweep in range(_SWEEPS):
        side = -1 if sweep % 2 == 0 else 1
        for place in range(len(ranks)) if side < 0 else reversed(range(len(ranks))):
            at = {node: (i + 0.5) / len(rank) for rank in ranks for i, node in enumerate(rank)}
            means = {
                node: sum(at[other] for other in joined[node, side]) / len(joined[node, side])
                if joined[node, side]
                else at[node]
                for node in ranks[place]
            }
            ranks[place].sort(key=means.__getitem__)
    return Layout(ranks, layout.ways)


Places = tuple[dict[object, Point], dict[object, Point], Point]


def _places(chart: Flowchart, layout: Layout) -> Places:
    """Centres and sizes of nodes and bends, [x, y] each, and the size of all along and across the arrows."""
    sizes = {
        node: (text_width(chart.words[node]) + 18, _HIGH) if isinstance(node, str) else (0.0, 2.0)
        for rank in layout.ranks
        for node in rank
    }
    side = 1 if chart.across else 0  # of a size: the one along a rank
    long = [sum(sizes[node][side] + _APART for node in rank) for rank in layout.ranks]
    centres: dict[object, Point] = {}
    along = 2.0
    for place, rank in enumerate(layout.ranks):
        depth = max(sizes[node][1 - side] for node in rank)
        room = (max(long) - long[place]) / (len(rank) + 1)
        at = room
        for node in rank:
            at += (sizes[node][side] + _APART) / 2
            centre = (along + depth / 2, at)
            centres[node] = centre if chart.across else (centre[1], centre[0])
            at += (sizes[node][side] + _APART) / 2 + room
        along += depth + _gap(chart, layout, place)
    return centres, sizes, (along - _LEAST_GAP + 2, max(long))


def _gap(chart: Flowchart, layout: Layout, place: int) -> float:
    """Room behind a rank; from left to right the words of its arrows fit."""
    leaving = [words for (first, _), words in chart.arrows.items() if first in layout.ranks[place] and words]
    if not chart.across or not leaving:
        return float(_LEAST_GAP)
    return max(text_width(words, small=True) for words in leaving) + _LEAST_GAP


def _labels(
    chart: Flowchart, ways: dict[tuple[str, str], list[Point]], taken: list[tuple[Point, Point]]
) -> Iterator[tuple[Point, str]]:
    """Where the words of arrows stand: on their first part, clear of nodes and of each other if there is such a place.

    `taken`: centres and sizes of the nodes.
    """
    for arrow, words in chart.arrows.items():
        if not words:
            continue
        size = (text_width(words, small=True), _LINE)
        places = [_on_curve(ways[arrow][0], ways[arrow][1], part, across=chart.across) for part in _PARTS]
        at = next((place for place in places if _clear(place, size, taken)), places[0])
        taken.append((at, size))
        yield at, words


def _on_curve(begin: Point, end: Point, part: float, *, across: bool) -> Point:
    """A point of the curve that `Svg.arrow` draws: along it as 1.5 t (1 - t) + t^3, across it as 3 t^2 - 2 t^3."""
    late = 3 * part**2 - 2 * part**3
    early = 1.5 * part * (1 - part) + part**3
    x, y = (early, late) if across else (late, early)
    return begin[0] + (end[0] - begin[0]) * x, begin[1] + (end[1] - begin[1]) * y


def _clear(place: Point, size: Point, taken: list[tuple[Point, Point]]) -> bool:
    """Whether a box touches none of those that are there."""
    return all(
        any(abs(place[side] - other[side]) > (size[side] + wide[side]) / 2 for side in (0, 1)) for other, wide in taken
    )


def _points(
    way: list[object],
    centres: dict[object, Point],
    sizes: dict[object, Point],
    *,
    across: bool,
) -> list[Point]:
    """What an arrow passes, from the edge of its first node to that of its last."""
    half = [sizes[node][0 if across else 1] / 2 for node in (way[0], way[-1])]
    points = [centres[node] for node in way]
    (x0, y0), (x1, y1) = points[0], points[-1]
    points[0] = (x0 + half[0], y0) if across else (x0, y0 + half[0])
    points[-1] = (x1 - half[1] - 3, y1) if across else (x1, y1 - half[1] - 3)
    return points
