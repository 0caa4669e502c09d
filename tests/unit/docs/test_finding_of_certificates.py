"""The README's finding on certificates: its words follow from what was counted and measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sifu.docs import finding_of_certificates as certificates
from sifu.docs.finding_of_certificates import finding_of_certificates
from sifu.replication.claims.stored_tables import read_tables
from tests.small_replication import PLAIN, World

TITLES = {"mnist": "MNIST"}


def test_what_was_measured_refutes_a_promise(tmp_path: Path) -> None:
    """Noise of sigma hides 2.86 sigma at epsilon = 10 and delta = 0.01: of distances 2.8, 2.9 and 9 two are too far."""
    tables = read_tables(World(("mnist",), {}, marks=PLAIN).write(tmp_path))
    rows = tables.cells["variant"] == "sifu"
    cells = tables.cells.assign(alpha=tables.cells["seed"].map({0: 2.8, 1: 2.9, 2: 9.0}).where(rows))
    measured = replace(tables, cells=cells)
    assert measured.too_far("mnist", "sifu").groupby(level=0).all().tolist() == [False, True, True]
    assert not len(tables.too_far("mnist", "fine_tuning"))
    line = finding_of_certificates(measured, pd.DataFrame(), TITLES)
    assert line.startswith("**SIFU's certificate does not cover a request.**")
    assert "For all clients of a request together it is too small in 0%, measured in 67%." in line
    assert "one by one" not in line


def test_what_was_measured_refutes_strict_noise_too(tmp_path: Path) -> None:
    """Of three seeds' distances 2.8, 2.7 and 9, the same after each of two requests, one is beyond 2.86; of 2.8, 2.7
    and 2.6 none.
    """
    tables = read_tables(World(("mnist",), {}, marks=PLAIN).write(tmp_path))
    rows = tables.cells["variant"] == "sifu_strict"
    for last, words in (
        (9.0, "Measured, it has too little in 2 of 6 answers of MNIST."),
        (2.6, ""),
    ):
        alpha = tables.cells["seed"].map({0: 2.8, 1: 2.7, 2: last}).where(rows)
        far = replace(tables, cells=tables.cells.assign(alpha=alpha))
        assert certificates._strict(far, pd.DataFrame(), 0.0, TITLES) == ([words] if words else [])


def test_single_clients_that_strict_noise_does_not_hide_are_counted(tmp_path: Path) -> None:
    """Of 100 clients that took part 30 are hidden, in each of three seeds; 50 more that did not count for nothing."""
    tables = read_tables(World(("mnist",), {}, hidden=0.3, idle=50, marks=PLAIN).write(tmp_path))
    words = "It does not hide 210 of 300 clients of MNIST, each taken as the only one to forget."
    assert certificates._strict(tables, pd.DataFrame(), 0.0, TITLES) == [words]


def test_the_round_that_strict_sifu_goes_back_to_is_the_latest_of_any_seed(tmp_path: Path) -> None:
    """Not a mean: of rounds 1, 4 and 2 it is 4, and of trainings of 500, 600 and 700 rounds the shortest has 500."""
    tables = read_tables(World(("mnist",), {}, marks=PLAIN).write(tmp_path))
    rounds = {"sifu_strict": {0: 1, 1: 4, 2: 2}, "fine_tuning": {0: 500, 1: 600, 2: 700}}
    cells = tables.cells
    for variant, by_seed in rounds.items():
        rows = cells["variant"] == variant
        cells = cells.assign(cut_round=cells["cut_round"].mask(rows, cells["seed"].map(by_seed)))
    found = certificates._went_back(replace(tables, cells=cells), ["mnist"])
    assert found == [
        "It goes back to round 4 or earlier, of the training or of a recovery; the training has at least 500."
    ]


@pytest.mark.parametrize(
    ("distances", "head", "share"),
    [
        ({0: 2.8, 1: 2.9, 2: 9.0}, "is not backed by its noise", "67%"),
        ({0: 2.8, 1: 2.7, 2: 9.0}, "covers a request", "33%"),
    ],
)
def test_where_clients_leave_alone_the_promise_itself_is_measured(
    tmp_path: Path, distances: dict[int, float], head: str, share: str
) -> None:
    """The rows of MNIST once more, as those of a scenario whose requests are clients: most decide."""
    tables = read_tables(World(("mnist",), {}, marks=PLAIN).write(tmp_path))
    own = tables.cells[tables.cells["variant"] == "sifu"].assign(scenario="mnist_single")
    alone = own.assign(alpha=own["seed"].map(distances))
    titles = TITLES | {"mnist_single": "MNIST, single clients"}
    line = finding_of_certificates(replace(tables, cells=pd.concat([tables.cells, alone])), pd.DataFrame(), titles)
    assert line.startswith(f"**SIFU's certificate {head}.**")
    assert (
        f"clients leave one by one, it is measured too small, given all draws, in {share} on MNIST, single clients."
        in line
    )
