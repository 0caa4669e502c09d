"""Ours, before the paper's figures: what all requests cost with each method, and whether the clients were forgotten."""

from __future__ import annotations

from textwrap import fill
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from sifu.report.figures.overview_rows import COLUMNS, Line, lines_of
from sifu.report.figures.overview_rows import drawn_scenarios as drawn_scenarios  # the report imports it from here
from sifu.report.figures.style import finish, grid
from sifu.report.grades import BY_ACCURACY, FORGOTTEN, GRADES, Grade
from sifu.report.results import Results
from sifu.report.standings import BROKEN, EXACT, FOR_ONE, KEPT, UNCOUNTED, Standing, standings, without_uncounted
from sifu.report.verdicts import Verdicts, verdicts

TITLE = "What unlearning costs, and whether the clients were forgotten"
CAPTION = (
    "A bar is what a method costs: the client steps of all requests until the target accuracy, calibration included, "
    "relative to training again from scratch (100%, the line). A bar above 150% is cut off there and has two white "
    "strokes. Colour, pattern and sign say whether the clients were forgotten. `<dataset>, twins` is a training on "
    "the same dataset that is judged by many models, with and without the clients, after the requests for which "
    "table `forgetting` has it. Other panels are judged by accuracy on the forgotten clients' data: within 0.03 of "
    "scratch's (forgotten), up to 0.1 above it (in part), further above it (not forgotten), or more than 0.03 below "
    "it; it cannot tell where it was not measured, or is within 0.1 of scratch's even for the model before any "
    "request. Accuracy is no proof: a model with scratch's accuracy may still carry traces of the clients. So a green"
    " bar is full only where the method passes the twin test of the same kind of training, trains again, or was "
    "counted as exact; it is pale where accuracy alone speaks for it, and not green where the method fails that twin "
    "test (`✗ twin test`). Right of a panel: what is left of the certificate; no word where nothing is promised, or "
    "the panel's settings do not count it. `kept`: for all clients of a request together, in every seed and request "
    "(as measured, where its bound is refuted); `exact`: the same with epsilon 0; `one client`: for each client alone; "
    "`broken`: not even that; `not counted`: "
    "this run did not. Means over the seeds in which the method and scratch reached the target after every request, "
    "with their number where some did not (`3/5`); a method without a bar did so, within the maximum rounds, in fewer"
    " than half of the seeds (`recovers in 1 of 3 seeds`), in none of them (`only some requests`), or reached it "
    "after no request at all (`never recovers`; `diverges every time` where its models exploded). "
    "The training that DP-FedAvg needs for itself is not counted. One panel a dataset, and one for each federation "
    "with a twin test; where there are many, those in which no bar can be told stand last and smaller. A method "
    "without a word is not part of that panel's plan; at most 14 methods: the report has the others."
)
HOW_TO_READ = "Short bar: cheap.  Green: forgotten.  Right column: did the promised certificate survive?"
_BARS = "bars: client steps of all requests, relative to training again from scratch (100%)"
CUT = 1.5  # of scratch's client steps: longer bars end here
_WIDTH = 9.6  # inches: on a page of 840 dots no type is below 7 points
_NARROW = 3.55  # inches: a phone
_LEAST = 6.6  # inches: the title and the line below it have room
_PANEL = 3.0  # inches: a wider one says no more
_LABELS, _WORDS = 1.95, 1.08  # inches: of the methods' names, and of what stands right of the longest bar
_TYPE = 8  # points
_ROW, _SMALL_ROW = 0.205, 0.165  # inches
_GREY, _PALE = "#5f6b76", "#8a96a1"
_BAND = "#eaf1f8"  # behind SIFU's rows
_BADGES: dict[str, dict[str, Any]] = {  # a certificate, in grey levels alone: filled where it survives
    EXACT: {"color": "white", "facecolor": "#1c2430", "edgecolor": "#1c2430"},
    KEPT: {"color": "white", "facecolor": "#1c2430", "edgecolor": "#1c2430"},
    FOR_ONE: {"color": "#1c2430", "facecolor": "#cfd6dd", "edgecolor": "#1c2430"},
    BROKEN: {"color": "#1c2430", "facecolor": "white", "edgecolor": "#1c2430", "linestyle": "--"},
    UNCOUNTED: {"color": _GREY, "facecolor": "none", "edgecolor": "none"},
}


class Drawing(NamedTuple):
    """What all panels are drawn from."""

    source: Results
    rows: list[Standing]  # of the scenarios that are drawn
    verdicts: Verdicts
    right: float  # where certificates end, in units of scratch's client steps
    narrow: bool

    def found(self, scenario: str) -> dict[str, Standing]:
        return {row.variant: row for row in self.rows if row.scenario == scenario}

    def is_sifu(self, variant: str) -> bool:
        return self.source.plan.methods[variant] == "sifu"


def draw(source: Results) -> Figure:
    """The picture as wide as a page."""
    return _draw(source, COLUMNS)


def draw_narrow(source: Results) -> Figure:
    """The same for a phone: a panel below the other, and no title, which the page has."""
    return _draw(source, 1)


def _draw(source: Results, columns: int) -> Figure:
    plan, every = source.plan, standings(source)
    names = drawn_scenarios(plan, every)
    rows = without_uncounted(plan, [row for row in every if row.scenario in names])
    lines = lines_of(plan, names, rows, columns)
    across = max(len(line.names) for line in lines)
    narrow = columns == 1
    width = _NARROW if narrow else min(_WIDTH, max(_LEAST, _LABELS + _PANEL * across))
    drawing = Drawing(source, rows, verdicts(plan, every), _right((width - _LABELS) / across), narrow)
    figure = _panels(drawing, lines, width, plan.titles)
    if not narrow:
        figure.suptitle(TITLE, x=0.01, ha="left", fontsize=11, fontweight="bold")
    _read(figure, narrow=narrow)
    shown = {variant for line in lines for variant in line.variants}
    _key(figure, [row for row in rows if row.variant in shown], drawing.verdicts)
    return figure


def _right(inches: float) -> float:
    """The width of a panel in units of scratch's client steps: what words leave is for the longest bar."""
    return CUT * inches / max(0.5, inches - _WORDS)


def _panels(drawing: Drawing, lines: list[Line], width: float, titles: dict[str, str]) -> Figure:
    across = max(len(line.names) for line in lines)
    figure, axes = grid(len(lines), across)
    heights = [max(0.9, 0.55 + (_SMALL_ROW if line.small else _ROW) * len(line.variants)) for line in lines]
    axes[0, 0].get_gridspec().set_height_ratios(heights)
    figure.set_size_inches(width, sum(heights) + 1.1)  # more: title and key
    for at, line in enumerate(lines):
        for place, axis in enumerate(axes[at]):
            if place >= len(line.names):
                axis.axis("off")
                continue
            finish(axis, empty=not drawing.found(line.names[place]))
            if drawing.found(line.names[place]):
                _panel(axis, drawing, line, place)
            axis.set_title(fill(titles.get(line.names[place], ""), 26), fontsize=10, loc="left", fontweight="bold")
    return figure


def _panel(axis: Axes, drawing: Drawing, line: Line, place: int) -> None:
    """Bars, and at the right the certificates. A method that is not planned here has no words, either."""
    plan, name, right = drawing.source.plan, line.names[place], drawing.right
    found, planned = drawing.found(name), drawing.source.plan.variants.get(name, line.variants)
    axis.axvline(1, color="#90a4ae", linewidth=1, zorder=0.5)
    for at, variant in enumerate(line.variants):
        row, behind = found.get(variant), _BAND if drawing.is_sifu(variant) else "white"
        axis.axhspan(at - 0.5, at + 0.5, color=behind, linewidth=0, zorder=0)
        if row and row.has_cost:
            _bar(axis, at, row, drawing.verdicts[name, variant], behind, right)
        elif row or variant in planned:
            words = row.short_words if row else "not run"
            words = words.removeprefix("recovers in ") if drawing.narrow else words
            _words(axis, 0.03, at, words, behind, color=_GREY if row else _PALE, style="italic")
        if row and row.certificate:
            _badge(axis, right, at, row.certificate.worth)
    _axes(axis, right, any(row.certificate for row in found.values()), len(line.variants))
    axis.set_yticks(range(len(line.variants)), [plan.labels[one] if not place else "" for one in line.variants])
    for label, variant in zip(axis.get_yticklabels(), line.variants, strict=True):
        label.set(fontsize=_TYPE if line.small else 9, fontweight="bold" if drawing.is_sifu(variant) else "normal")


def _axes(axis: Axes, right: float, certificates: bool, rows: int) -> None:
    if certificates:
        below = axis.get_xaxis_transform()  # in line with the numbers of the axis
        axis.text(right, -0.03, "certificate", ha="right", va="top", fontsize=_TYPE, transform=below)
    axis.set(xlim=(0, right + 0.02), ylim=(rows - 0.4, -0.6))
    ticks = [0.0, 1.0] if right > 2 * CUT else [0, 0.5, 1, 1.5]
    axis.set_xticks(ticks, [f"{tick:.0%}" if tick else "0" for tick in ticks], fontsize=_TYPE)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.spines["bottom"].set_bounds(0, CUT)


def _bar(axis: Axes, at: int, row: Standing, verdict: tuple[Grade, str], behind: str, right: float) -> None:
    """A bar with its length, its sign and, where these are not all, its seeds; two strokes where it is cut off."""
    length, (given, sign) = min(row.cost, CUT), verdict
    edge = {"edgecolor": FORGOTTEN.colour, "linewidth": 1.2} if given is BY_ACCURACY else _pattern(given)
    axis.barh(at, length, height=0.66, color=given.colour, zorder=2, **edge)
    if row.cost > CUT:
        for x in (CUT - 0.2, CUT - 0.1):
            axis.plot([x, x + 0.06], [at + 0.4, at - 0.4], color="white", linewidth=2, zorder=3)
    of = f" {row.compared}/{row.seeds}" if row.compared < row.seeds else ""
    _words(axis, length + 0.02 * right, at, f"{row.cost:.0%} {sign}{of}", behind)


def _pattern(given: Grade) -> dict[str, Any]:
    return {"hatch": given.pattern, "edgecolor": "white", "linewidth": 0}


def _words(axis: Axes, x: float, at: int, words: str, behind: str, **look: Any) -> None:
    """Words on the colour of their row, which the line of scratch does not cross."""
    box = {"facecolor": behind, "edgecolor": "none", "pad": 1.2}
    axis.text(x, at, words, va="center", fontsize=_TYPE, zorder=1.5, bbox=box, **look)


def _badge(axis: Axes, right: float, at: int, worth: str) -> None:
    """What is left of a certificate, in a box at the right of the panel."""
    box = dict(_BADGES[worth])
    axis.text(
        *(right, at, worth),
        ha="right",
        va="center",
        fontsize=_TYPE - 0.3,
        color=box.pop("color"),
        bbox={"boxstyle": "round,pad=0.16", "linewidth": 0.8} | box,
        zorder=4,
    )


def _read(figure: Figure, *, narrow: bool) -> None:
    """Below the title how to read the picture, for all who do not read the caption."""
    words = HOW_TO_READ.replace("  ", "\n") if narrow else HOW_TO_READ
    above = 0 if narrow else 17  # points: the title
    room = ((16 if narrow else 20) + 12 * words.count("\n")) / 72 / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - room))  # type: ignore[union-attr, call-arg]
    place = figure.transFigure + ScaledTranslation(0, -(above + 4) / 72, figure.dpi_scale_trans)
    figure.text(0.01, 1, words, transform=place, va="top", fontsize=9, color=_GREY)


def _key(figure: Figure, rows: list[Standing], given: Verdicts) -> None:
    """Below all panels what bars are, and the grades that were given."""
    used = {given[row.scenario, row.variant][0] for row in rows if row.has_cost}
    handles = [_patch(one, weak=BY_ACCURACY in used) for one in GRADES if one in used]
    width = figure.get_figwidth()
    columns = max(1, min(len(handles), int(width / 1.9)))
    words = fill(_BARS, round(width * 15))
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    figure.legend(handles=handles, title=words, title_fontsize=_TYPE + 0.5, fontsize=_TYPE + 0.5, **place)


def _patch(one: Grade, *, weak: bool) -> Patch:
    """A grade of the key; what is surely forgotten says why where other bars are weaker."""
    edge = {"edgecolor": FORGOTTEN.colour, "linewidth": 1.2} if one is BY_ACCURACY else _pattern(one)
    words = f"{one.words} (twin test, or exact)" if weak and one is FORGOTTEN else one.words
    return Patch(facecolor=one.colour, label=f"{one.sign} {words}", **edge)
