"""The tabs of the leaderboard: datasets and twin tests first, their variations in a group of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sifu.report.board_tabs import in_groups, tab_list
from sifu.report.grades import FORGOTTEN, TWINS
from sifu.report.leaderboard import leaderboard, needs
from tests.unit.report.test_leaderboard import PLAN, ROWS, standing

TITLES = {
    "a": "Digits",
    "marked": "Digits, marked",
    "b": "Digits, other clients",
    "faces": "Faces",
    "t": "Digits, twins",
}
DATA = dict.fromkeys(TITLES, "mnist/idx") | {"faces": "celeba/idx"}
MANY = replace(PLAN, titles=TITLES, datasets=DATA, marks=dict.fromkeys(TITLES, "plain") | {"marked": "watermark"})


def rows() -> list:
    """A row a scenario; on the last one by the twin test."""
    found = [standing("sifu", 0.5, FORGOTTEN, 0.9)._replace(scenario=name) for name in TITLES]
    return [row._replace(by=TWINS) if row.scenario == "t" else row for row in found]


def test_a_dataset_each_and_the_twin_tests_stand_first() -> None:
    assert in_groups(MANY, rows()) == (["a", "faces", "t"], ["marked", "b"])
    assert in_groups(MANY, rows()[:1]) == (["a"], []), "a scenario without rows has no tab"


def test_every_scenario_has_a_tab_and_a_panel_of_the_same_number() -> None:
    page = leaderboard(MANY, rows(), lambda scenario, _: f"again {scenario}")
    for place, name in enumerate(["a", "faces", "t", "marked", "b"]):
        assert f'aria-controls="board-{place}" id="tab-{place}">{TITLES[name]}</button>' in page
        panel = page.partition(f'id="board-{place}"')[2].partition("role=tabpanel")[0]
        assert f"again {name}<" in panel.partition("</table>")[0]
    assert page.index(">Digits, twins<") < page.index("<span>Variations</span>") < page.index(">Digits, marked<")


def test_without_variations_there_is_one_group() -> None:
    assert "Variations" not in tab_list(MANY, ["a", "faces"], [])


def test_columns_have_nouns_and_a_need_is_no_certificate() -> None:
    page = leaderboard(PLAN, ROWS, lambda *_: "")
    assert '<th scope="col">certificate claimed<th scope="col">certificate kept?<th scope="col">needs' in page
    assert "kept: a scalar" not in page
    assert "repeats one cell of its row" in " ".join(page.split())
    assert "<code>SIFU_DATA_ROOT</code>" in page


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("sifu", "server stores: one number per client and round, one model per client"),
        ("last", "server stores: one number per client and round"),
        ("fed_eraser", "server stores: lengths of updates, of one round in dt; or the updates"),
        ("scratch", "server stores: the initial model"),
    ],
)
def test_what_the_server_stores_is_read_once(method: str, words: str) -> None:
    assert needs(method) == words
