"""Reads the margins of some models out of large files: of each file only the row groups of these models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sifu.errors import StoreError
from sifu.store.oracle_schemas import MARGINS
from sifu.store.parquet import check_schema, readable


class ModelMargins(NamedTuple):
    """Models of one world, sorted by their seeds."""

    seeds: NDArray[np.int64]  # [N]
    margins: NDArray[np.float32]  # [N, P]


class MarginFiles:
    """The files of all blocks of a scenario; a row group is a model."""

    def __init__(self, paths: Sequence[Path]) -> None:
        keys = []
        for number, path in enumerate(paths):
            with readable(path), pq.ParquetFile(path) as file:
                check_schema(path, file.schema_arrow, MARGINS)
                named = file.read(columns=list(MARGINS.key)).to_pandas()
            keys.append(named.assign(file=number, group=np.arange(len(named))))
        self.paths, self.keys = list(paths), pd.concat(keys, ignore_index=True)
        if self.keys.duplicated(list(MARGINS.key)).any():
            raise StoreError(f"two of the files {', '.join(map(str, paths))} have the same models")

    def models(self, variant: str, request: int, world: str) -> ModelMargins:
        """The models of a variant after a request; none where there are none."""
        keys = self.keys
        chosen = keys[(keys["variant"] == variant) & (keys["request"] == request) & (keys["world"] == world)]
        chosen = chosen.sort_values("seed")
        rows: dict[tuple[int, int], NDArray[np.float32]] = {}
        for number, part in chosen.groupby("file"):
            path, groups = self.paths[int(number)], part["group"].tolist()
            with readable(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
                column = file.read_row_groups(groups, columns=["margins"]).column("margins").combine_chunks()
                values = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(len(groups), -1)
            rows |= {(int(number), group): row for group, row in zip(groups, values, strict=True)}
        order = zip(chosen["file"], chosen["group"], strict=True)
        found = [rows[int(file), int(group)] for file, group in order]
        return ModelMargins(chosen["seed"].to_numpy(), np.stack(found) if found else np.zeros((0, 0), np.float32))
