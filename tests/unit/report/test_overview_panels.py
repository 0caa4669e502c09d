"""Where the panels of the overview stand, what they are called, and whether they can be read."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.text import Text

from sifu.catalog.methods import METHODS
from sifu.report.figures import overview
from sifu.report.figures.overview_rows import lines_of
from sifu.report.figures.style import method_colour
from sifu.report.grades import GRADES
from sifu.report.results import Results
from tests.unit.report.test_overview import RETAINED, SCRATCH, answers, plain_results, source_of

BLIND = [(100.0, RETAINED, "done")]  # as accurate on the forgotten as on the others
DRAWINGS = (overview.draw, overview.draw_narrow)


def twins_of_digits(**variants: list[tuple[float, float, str]]) -> Results:
    """Scenarios s and t of the same dataset and kind of training; of t there is a twin test, which SIFU fails."""
    plan = plain_results({name: name for name in variants}).plan
    same = {"datasets": {"s": "d", "t": "d", "u": "u"}, "trainings": {"s": "k", "t": "k", "u": "l"}}
    titles = {"s": "Digits", "u": "Faces", "t": "Digits, twins"}
    source = Results(replace(plan, titles=titles, marks=dict.fromkeys(titles, "plain"), **same))  # type: ignore[arg-type]
    tables = [[table.assign(scenario=name) for name in titles] for table in answers(**variants)]
    source.__dict__["cells"], source.__dict__["metrics"] = map(pd.concat, tables)
    rows = [("t", name, "no" if name == "sifu" else "yes", -1, 0.5) for name in variants]
    source.__dict__["forgetting"] = pd.DataFrame(
        rows, columns=["scenario", "variant", "forgotten", "client", "twins_auc"]
    )
    return source


def test_a_twin_test_stands_after_its_dataset_and_speaks_for_it() -> None:
    """By accuracy SIFU and PUF forget everywhere. By twins PUF does, and SIFU does not: nor is it green on Digits."""
    figure = overview.draw(twins_of_digits(scratch=SCRATCH, sifu=SCRATCH, puf=SCRATCH))
    words = {axis.get_title(loc="left"): [text.get_text() for text in axis.texts] for axis in figure.axes}
    assert list(words.items()) == [
        ("Digits", ["100% ✓", "100% ✗ twin test", "100% ✓"]),
        ("Digits, twins", ["100% ✓", "100% ✗", "100% ✓"]),
        ("Faces", ["100% ✓", "100% (✓)", "100% (✓)"]),
    ]


def test_a_twin_test_of_retraining_alone_has_no_panel() -> None:
    """It would say nothing of the methods that are drawn."""
    source = twins_of_digits(scratch=SCRATCH, sifu=SCRATCH)
    tested = source.__dict__["forgetting"]
    source.__dict__["forgetting"] = tested[tested["variant"] == "scratch"]
    assert [axis.get_title(loc="left") for axis in overview.draw(source).axes] == ["Digits", "Faces"]


def test_of_two_twin_tests_that_of_more_methods_has_a_panel() -> None:
    """SIFU was tested in both federations, PUF in the first alone."""
    source = twins_of_digits(scratch=SCRATCH, sifu=SCRATCH, puf=SCRATCH)
    plan, tested = source.plan, source.__dict__["forgetting"]
    titles, same = plan.titles | {"v": "Digits, few"}, {"datasets": plan.datasets | {"v": "d"}}
    few = tested[tested["variant"] != "puf"].assign(scenario="v")
    for order in ((tested, few), (few, tested)):
        more = Results(replace(plan, titles=titles, marks=dict.fromkeys(titles, "plain"), **same))  # type: ignore[arg-type]
        for name in ("cells", "metrics"):
            rows = source.__dict__[name]
            more.__dict__[name] = pd.concat([rows, rows[rows["scenario"] == "t"].assign(scenario="v")])
        more.__dict__["forgetting"] = pd.concat(order)
        names = [axis.get_title(loc="left") for axis in overview.draw(more).axes]
        assert names == ["Digits", "Digits, twins", "Faces"]


def test_the_eye_finds_sifu_after_scratch() -> None:
    labels = {"fine_tuning": "F", "last": "L", "sifu": "SIFU", "scratch": "Scratch"}
    figure = overview.draw(source_of(labels, **dict.fromkeys(labels, SCRATCH)))
    shown = figure.axes[0].get_yticklabels()
    assert [label.get_text() for label in shown] == ["Scratch", "SIFU", "F", "L"]
    assert [label.get_fontweight() for label in shown] == ["normal", "bold", "normal", "normal"]


def test_the_line_of_scratch_does_not_cross_words() -> None:
    """Every word at a bar has the colour of its row behind it, above the line; SIFU's rows have a band."""
    figure = overview.draw(source_of({"scratch": "Scratch", "sifu": "SIFU"}, scratch=SCRATCH, sifu=SCRATCH))
    (line,) = figure.axes[0].lines
    texts = figure.axes[0].texts
    boxes = [text.get_bbox_patch() for text in texts]
    assert [to_hex(box.get_facecolor()) for box in boxes if box] == ["#ffffff", overview._BAND]
    assert all(text.get_zorder() > line.get_zorder() for text in texts)


def test_one_line_says_how_to_read_the_picture() -> None:
    for figure in (drawn(source_of({"scratch": "Scratch"}, scratch=SCRATCH)) for drawn in DRAWINGS):
        (words,) = (text.get_text() for text in figure.texts if "certificate" in text.get_text())
        assert words.split() == overview.HOW_TO_READ.split()
        figure.draw_without_rendering()


def many_panels() -> Results:
    """Six datasets; on the first two SIFU is as accurate on the forgotten as the original model, as scratch is."""
    titles = {name: name.upper() for name in "abcdef"}
    plan = replace(plain_results({"scratch": "Scratch", "sifu": "SIFU"}).plan, titles=titles)
    source = Results(replace(plan, marks=dict.fromkeys(titles, "plain")))
    told, untold = answers(scratch=SCRATCH, sifu=SCRATCH), answers(scratch=BLIND, sifu=BLIND)
    tables = [[(untold if name in "ab" else told)[at].assign(scenario=name) for name in titles] for at in (0, 1)]
    source.__dict__["cells"], source.__dict__["metrics"] = map(pd.concat, tables)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    return source


def test_panels_that_tell_nothing_stand_last_and_smaller() -> None:
    figure = overview.draw(many_panels())
    figure.draw_without_rendering()
    shown = [axis for axis in figure.axes if axis.axison]
    assert [axis.get_title(loc="left") for axis in shown] == ["C", "D", "E", "F", "A", "B"]
    heights = [axis.get_position().height for axis in shown]
    assert max(heights[4:]) < min(heights[:4])
    assert [text.get_text() for text in shown[-1].texts] == ["100% ✓", "100% ?"]


def test_a_line_of_panels_lists_only_the_methods_of_its_panels() -> None:
    """Four panels in two lines: NoT is planned in the last alone, and SIFU was run in the first, though not planned."""
    every = ["scratch", "sifu", "not"]
    plan = replace(
        plain_results(dict.fromkeys(every, "")).plan,
        variants={"a": ["scratch"], "b": ["scratch"], "c": ["scratch"], "d": ["scratch", "not"]},
    )
    rows: list[Any] = [SimpleNamespace(scenario="a", variant="sifu"), SimpleNamespace(scenario="d", variant="not")]
    rows += [SimpleNamespace(scenario=name, variant="scratch") for name in "abcd"]
    lines = lines_of(plan, ["a", "b", "c", "d"], rows, 2)
    assert [(line.names, line.variants) for line in lines] == [
        (["a", "b"], ["scratch", "sifu"]),
        (["c", "d"], ["scratch", "not"]),
    ]


def test_type_and_colours_can_be_read() -> None:
    """On a page of 840 dots, 8.75 inches, nothing is below 7 points, though a line has four panels; no colour of a
    grade or of SIFU is used twice.
    """
    figure = overview.draw(many_panels())
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    shown = min(1.0, 840 / 96 / figure.get_figwidth())
    assert min(text.get_fontsize() for text in texts) * shown >= 7
    assert len({one.colour for one in GRADES}) == len({one.sign for one in GRADES}) == len(GRADES)
    others = [method_colour(name, place) for place, name in enumerate(METHODS.own) if name != "sifu"]
    assert method_colour("sifu", 0) not in others
