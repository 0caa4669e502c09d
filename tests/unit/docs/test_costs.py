"""The README's table: its costs, and the leaderboard's grades and winner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sifu.docs import findings
from sifu.docs.costs import costs, signs
from sifu.replication.published import Published
from sifu.stages.rows import frame
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import Provenance, provenance
from sifu.store.schemas import CELLS
from tests.outcomes import Outcome
from tests.small_replication import BLOCK, PLAIN, World, write_manifest


def test_where_some_seeds_diverge_a_cost_says_of_how_many_it_is(tmp_path: Path) -> None:
    """SIFU diverges at the last request in one seed of three: its cost is that of two, and no winner's."""
    folder = World(("mnist",), marks=PLAIN).write(tmp_path)
    (cells,) = folder.glob("unlearn/mnist/sifu/*/cells.parquet")
    rows = read_table(cells, CELLS)
    last = (rows["seed"] == 1) & (rows["request"] == rows["request"].max())
    rows["status"] = rows["status"].mask(last, "diverged")
    write_table(cells, CELLS, rows, Provenance(**read_stamp(cells)))
    run = Published(folder, folder, folder)
    lines = costs(tmp_path, run).splitlines()
    assert "| SIFU | 40% (✓) (2 of 3) |" in lines
    assert "| SIFU, as released | **40% (✓)** |" in lines
    assert " It answers every request in only 2 of 3 seeds of MNIST. " in findings.findings(tmp_path, run)


def test_rows_without_clipping_are_marked_by_method(tmp_path: Path) -> None:
    """Neither SIFU recovers on CIFAR-10; only the rows of the one as released lack the clipping."""
    lost = Outcome(30, status="not_reached")
    changes = {("cifar10", "sifu"): lost, ("cifar10", "sifu_released"): lost}
    folder = World(("cifar10",), changes, marks=PLAIN).write(tmp_path)
    run = Published(folder, folder, folder)
    rows = {"sifu": 1e4, "sifu_released": None}
    blocks = [{"stage": "unlearn", "scenario": "cifar10", "variant": name, "settings": name} for name in rows]
    settings = {name: {"federation": {"clip": clip}} for name, clip in rows.items()}
    write_manifest(folder, blocks=blocks, block_settings=settings)
    lines = costs(tmp_path, run).splitlines()
    assert "| SIFU | 0 of 3 seeds |" in lines
    assert "| SIFU, as released | 0 of 3 seeds† |" in lines
    assert "† Made without the clipping" in signs(tmp_path, run)
    write_manifest(folder, blocks=blocks[:1], block_settings=settings)
    assert "†" not in signs(tmp_path, run)


def test_the_readmes_table_has_at_most_eight_rows(tmp_path: Path) -> None:
    folder = World(("mnist",), marks=PLAIN).write(tmp_path)
    lines = costs(tmp_path, Published(folder, folder, folder)).splitlines()
    assert lines[0] == "| method | MNIST (3 seeds) |"
    assert 3 <= len(lines) - 2 <= 8
    assert "| SIFU | **40% (✓)** |" in lines, "the cheapest that forgot"
    assert "| SIFU, as released | 40% (✓) |" in lines
    assert "| Fine-tuning | 50% ✗ |" in lines


def test_where_all_cost_the_same_nobody_wins(tmp_path: Path) -> None:
    """As on the leaderboard: 40% of scratch's steps each. Last, which never recovers, has no cost and is no rival."""
    names = ("fine_tuning", "fed_eraser_released", "fed_eraser_searched")
    world = World(("mnist",), {("mnist", name): Outcome(40) for name in names}, marks=PLAIN)
    folder = world.write(tmp_path)
    lines = costs(tmp_path, Published(folder, folder, folder)).splitlines()
    assert "| SIFU | 40% (✓) |" in lines
    assert not [line for line in lines if "**" in line]


def by_twins(scenario: str, variant: str, forgotten: str) -> dict[str, Any]:
    """A twin test of all clients of the first request."""
    key = {"scenario": scenario, "variant": variant, "request": 1, "client": -1, "models": 100, "reached": 100}
    return (
        key
        | {"twins_auc": 0.5, "original_auc": 0.99, "share": 1, "share_low": 1, "share_high": 1}
        | {"forgotten": forgotten}
    )


def test_the_twin_test_of_the_same_training_decides(tmp_path: Path) -> None:
    """By accuracy SIFU forgets on MNIST as on CIFAR-10; on MNIST with twins it fails, and searched FedEraser passes."""
    changes = {("*", "fed_eraser_searched"): Outcome(60)}
    folder = World(("mnist", "mnist_twins", "cifar10"), changes, marks=PLAIN).write(tmp_path)
    answers = [("sifu", "no"), ("sifu_released", "no"), ("fed_eraser_searched", "yes")]
    rows = frame(FORGETTING, [by_twins("mnist_twins", *answer) for answer in sorted(answers)])
    path = folder / "forgetting" / "mnist_twins" / BLOCK / "forgetting.parquet"
    write_table(path, FORGETTING, rows, provenance("forgetting", {}, "0", "cpu"))
    lines = costs(tmp_path, Published(folder, folder, folder)).splitlines()
    assert lines[0] == "| method | MNIST (3 seeds) | CIFAR-10 (3 seeds) |"
    assert "| Scratch | 100% ✓ | 100% ✓ |" in lines
    assert "| SIFU | 40% ✗ | **40% (✓)** |" in lines
    assert "| SIFU, as released | 40% ✗ | 40% (✓) |" in lines
    assert "| FedEraser, dt and r searched | **60% ✓** | 60% (✓) |" in lines


def test_every_sign_has_its_words(tmp_path: Path) -> None:
    folder = World(("mnist",), marks=PLAIN).write(tmp_path)
    assert signs(tmp_path, Published(folder, folder, folder)) == (
        "✓ passes the twin test or is exact, (✓) forgotten by accuracy alone, ~ in part, ✗ not forgotten, "
        "↓ less accurate than scratch, ? cannot tell"
    )
