"""The comparison of two runs notices every difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cluster.compare import differences

ROWS = pd.DataFrame(
    {"variant": ["sifu"] * 4, "seed": [0, 0, 1, 1], "request": [1, 2, 1, 2], "psi": [0.5, 0.25, 0.1, None]}
)
TABLE = "unlearn/smoke/sifu/{block}/cells.parquet"


def write(root: Path, blocks: dict[str, pd.DataFrame], text: str = "| SIFU | 31 |") -> Path:
    for block, frame in blocks.items():
        path = root / TABLE.format(block=block)
        path.parent.mkdir(parents=True)
        frame.to_parquet(path)
    report = root / "report" / "tables"
    report.mkdir(parents=True)
    (report / "headline.md").write_text(text)
    return root


@pytest.fixture
def left(tmp_path: Path) -> Path:
    return write(tmp_path / "left", {"s000-001": ROWS})


def single_seeds(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {f"s{seed:03d}-{seed:03d}": frame[frame["seed"] == seed] for seed in (0, 1)}


def test_blocks_do_not_matter(left: Path, tmp_path: Path) -> None:
    assert differences(left, write(tmp_path / "right", single_seeds(ROWS))) == []


def test_lists_are_compared(tmp_path: Path) -> None:
    """Two blocks of one model each; a margin of the second differs."""
    frames = [
        ROWS[ROWS["seed"] == seed].assign(margins=[np.array([1.0, last])] * 2) for seed, last in ((0, 2.0), (1, 3.0))
    ]
    names = ("s000-000", "s001-001")
    left = write(tmp_path / "left", dict(zip(names, frames, strict=True)))
    assert differences(left, write(tmp_path / "same", {"s000-001": pd.concat(frames)})) == []
    frames[1] = frames[1].assign(margins=[np.array([1.0, 4.0])] * 2)
    (sentence,) = differences(left, write(tmp_path / "other", dict(zip(names, frames, strict=True))))
    assert "margins differs in 2 of 4 rows" in sentence


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("psi", 2, 0.1 + 1e-16, "psi differs in 1 of 4 rows, such as np.float64(0.1)"),
        ("psi", 3, 0.0, "psi differs in 1 of 4 rows, such as np.float64(nan) and np.float64(0.0)"),
        ("request", 1, 3, "request differs in 1 of 4 rows"),
        ("variant", 0, "last", "variant differs in"),
    ],
)
def test_one_different_value_is_noticed(
    left: Path, tmp_path: Path, column: str, row: int, value: object, message: str
) -> None:
    frame = ROWS.copy()
    frame.loc[row, column] = value
    sentences = differences(left, write(tmp_path / "right", single_seeds(frame)))
    assert any(sentence.startswith(f"unlearn/smoke/sifu/cells.parquet: {message}") for sentence in sentences)


def test_another_type_is_noticed(left: Path, tmp_path: Path) -> None:
    right = write(tmp_path / "right", single_seeds(ROWS.astype({"request": "int32"})))
    assert [sentence.split(":")[1].split()[0] for sentence in differences(left, right)] == ["request"]


def test_missing_rows_and_tables_are_noticed(left: Path, tmp_path: Path) -> None:
    blocks = single_seeds(ROWS)
    del blocks["s001-001"]
    assert "4 rows of" in differences(left, write(tmp_path / "fewer", blocks))[0]
    assert "only in" in differences(left, write(tmp_path / "none", {}))[0]


def test_another_text_is_noticed(left: Path, tmp_path: Path) -> None:
    right = write(tmp_path / "right", {"s000-001": ROWS}, "| SIFU | 32 |")
    assert differences(left, right) == ["report/tables/headline.md: differs"]


def test_a_folder_without_tables_is_noticed(tmp_path: Path) -> None:
    assert differences(tmp_path, tmp_path) == [f"no tables in {tmp_path}"]
