"""Reads the margins of some models out of large files: of each file only the row groups of these models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sifu.core.types import Status
from sifu.errors import StoreError
from sifu.store.bounded import open_parquet
from sifu.store.oracle_schemas import MARGINS, OTHER_DRAWS, WITH_TWIN
from sifu.store.parquet import check_schema, readable
from sifu.store.place import refuse_misplaced

_SHORT = [column.name for column in MARGINS.columns if column.name not in ("margins", "predicted")]


class ModelMargins(NamedTuple):
    """Models of one world, sorted by their seeds; those that diverged, or have margins that are not finite, are out."""

    seeds: NDArray[np.int64]  # [N]; numbers of their own in the twins' world, which shares no draws with the other
    margins: NDArray[np.float32]  # [N, P]
    predicted: NDArray[np.uint8]  # [N, P] classes that the models say
    notes: pd.DataFrame  # status, relearn_steps, relearned: a row a model

    def only(self, seeds: NDArray[np.int64]) -> ModelMargins:
        """The models of some seeds."""
        if len(seeds) == len(self.seeds):
            return self
        kept = np.isin(self.seeds, seeds)
        notes = self.notes[kept].reset_index(drop=True)
        return ModelMargins(self.seeds[kept], self.margins[kept], self.predicted[kept], notes)

    @property
    def reached(self) -> int:
        """How many of them met the target accuracy."""
        return int((self.notes["status"] == Status.DONE.value).sum())


class MarginFiles:
    """The files of all blocks of a scenario; a row group is a model."""

    def __init__(self, paths: Sequence[Path]) -> None:
        keys = []
        for number, path in enumerate(paths):
            named: Any = _named(path)
            keys.append(named.assign(file=number, group=np.arange(len(named))))
        self.paths, self.keys = list(paths), pd.concat(keys, ignore_index=True)
        if self.keys.duplicated(list(MARGINS.key)).any():
            raise StoreError(f"two of the files {', '.join(map(str, paths))} have the same models")

    def models(self, variant: str, request: int, world: str) -> ModelMargins:
        """The models of a variant after a request; none where there are none."""
        keys = self.keys
        chosen = keys[(keys["variant"] == variant) & (keys["request"] == request) & (keys["world"] == world)]
        chosen = chosen[chosen["status"] != Status.DIVERGED.value].sort_values("seed")
        margins = np.zeros((len(chosen), self.num_points), np.float32)
        predicted = np.zeros(margins.shape, np.uint8)
        for number in chosen["file"].unique():
            here = (chosen["file"] == number).to_numpy()
            margins[here], predicted[here] = self._read(self.paths[int(number)], chosen.loc[here, "group"].tolist())
        seeds = chosen["seed"].to_numpy() + (OTHER_DRAWS if world == WITH_TWIN else 0)
        finite = np.isfinite(margins).all(1)  # a method may end with such a model without having diverged on the way
        notes = chosen.loc[finite, ["status", "relearn_steps", "relearned"]].reset_index(drop=True)
        return ModelMargins(seeds[finite], margins[finite], predicted[finite], notes)

    def _read(self, path: Path, groups: list[int]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Margins and predictions of some row groups, in this order. [N, P] each"""
        with readable(path), open_parquet(path, checksums=True) as file:
            table = file.read_row_groups(groups, columns=["margins", "predicted"])
        columns = [table.column(name).combine_chunks() for name in ("margins", "predicted")]
        for column in columns:
            self._refuse_lengths(path, column)
        flat = (column.flatten().to_numpy(zero_copy_only=False) for column in columns)
        margins, predicted = (values.reshape(len(groups), -1) for values in flat)
        return margins, predicted

    def _refuse_lengths(self, path: Path, column: pa.ListArray) -> None:
        """All models are about the same points."""
        lengths = pc.unique(pc.list_value_length(column)).to_pylist()
        if lengths != [self.num_points]:
            raise StoreError(f"{path} has models of {lengths[:3]} points, expected {self.num_points}")

    @cached_property
    def num_points(self) -> int:
        """The points of every model, by the first one of the files; 0: there is none."""
        for path in self.paths:
            with readable(path), open_parquet(path) as file:
                if file.num_row_groups:
                    return len(file.read_row_group(0, columns=["margins"]).column("margins")[0])
        return 0


def _named(path: Path) -> pd.DataFrame:
    """Which models a file holds, one a row group; refused where they do not belong."""
    with readable(path), open_parquet(path) as file:
        check_schema(path, file.schema_arrow, MARGINS)
        groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
        if any(group.num_rows != 1 for group in groups):
            raise StoreError(f"{path} does not hold one model a row group")
        named = file.read(columns=_SHORT)
        refuse_misplaced(path, MARGINS, named)
        return named.to_pandas()
