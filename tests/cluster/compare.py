"""Whether two folders of results hold the same tables, value by value, whatever their blocks of seeds.

`python -m tests.cluster.compare LEFT RIGHT` prints what differs, and then ends non-zero.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

_BLOCK = re.compile(r"/s\d+-\d+(?=/)")
_TEXTS = (".csv", ".md", ".tex")


def differences(left: Path, right: Path) -> list[str]:
    """A sentence for each table that differs between two folders; a folder without tables counts as different."""
    ours, theirs = _tables(left), _tables(right)
    if not ours:
        return [f"no tables in {left}"]
    on_one_side = [f"{name}: only in {left if name in ours else right}" for name in sorted(ours.keys() ^ theirs.keys())]
    shared = sorted(ours.keys() & theirs.keys())
    differing = [sentence for name in shared for sentence in _rows_differ(name, ours[name], theirs[name])]
    return on_one_side + differing + _texts_differ(left, right)


def _tables(root: Path) -> dict[str, pd.DataFrame]:
    """All tables by their path without the block; the blocks of a table are concatenated."""
    blocks: dict[str, list[pd.DataFrame]] = {}
    for path in sorted(root.rglob("*.parquet")):
        name = _BLOCK.sub("", path.relative_to(root).as_posix())
        blocks.setdefault(name, []).append(_read(path))
    return {name: _sorted(pd.concat(parts, ignore_index=True)) for name, parts in blocks.items()}


def _read(path: Path) -> pd.DataFrame:
    """A table; its lists, such as margins, as bytes, which can be sorted and compared."""
    table = pq.read_table(path)
    frame = table.to_pandas()
    for field in table.schema:
        if pa.types.is_list(field.type):
            frame[field.name] = [values.tobytes() for values in frame[field.name]]
    return frame


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows sorted by the columns that identify them, then by measured values."""
    measured = [name for name in frame.columns if frame[name].dtype.kind == "f"]
    names = [name for name in frame.columns if name not in measured] + measured
    return frame.sort_values(names, ignore_index=True)


def _rows_differ(name: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> list[str]:
    if list(ours.columns) != list(theirs.columns) or len(ours) != len(theirs):
        shapes = f"{len(ours)} rows of {list(ours.columns)}, {len(theirs)} rows of {list(theirs.columns)}"
        return [f"{name}: not the same rows and columns: {shapes}"]
    sentences = []
    for column in ours.columns:
        same = (ours[column] == theirs[column]) | (ours[column].isna() & theirs[column].isna())
        if ours[column].dtype != theirs[column].dtype or not same.all():
            row = int((~same.astype(bool)).argmax())
            pair = f"{ours[column][row]!r} and {theirs[column][row]!r}"
            sentences.append(f"{name}: {column} differs in {int((~same).sum())} of {len(ours)} rows, such as {pair}")
    return sentences


def _texts_differ(left: Path, right: Path) -> list[str]:
    """The report's text tables must have the same bytes."""
    ours, theirs = ({p.name: p.read_bytes() for p in _texts(root)} for root in (left, right))
    return [f"report/tables/{name}: differs" for name in sorted(ours | theirs) if ours.get(name) != theirs.get(name)]


def _texts(root: Path) -> list[Path]:
    return [path for path in (root / "report" / "tables").glob("*") if path.suffix in _TEXTS]


if __name__ == "__main__":
    sentences = differences(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(sentences) or "the same tables")
    sys.exit(bool(sentences))
