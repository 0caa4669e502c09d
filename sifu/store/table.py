"""The description of a Parquet table: columns with types and units, and the key of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa


class Column(NamedTuple):
    name: str
    type: pa.DataType
    meaning: str  # with unit
    nullable: bool = False
    later: bool = False  # tables of earlier versions do not have it; there it is read as null


@dataclass(frozen=True)
class Table:
    name: str
    meaning: str
    key: tuple[str, ...]  # identifies a row; rows are sorted by it
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns])
