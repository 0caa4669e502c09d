"""The data card: Croissant (MLCommons, version 1.0), JSON-LD that dataset search engines and loaders read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from sifu.store.table import Column, Table

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
    "rai": "http://mlcommons.org/croissant/RAI/",
}


class TableFile(NamedTuple):
    """A Parquet file of the dataset."""

    path: str  # inside the folder
    table: Table
    sha256: str
    size: int  # bytes

    @property
    def name(self) -> str:
        """mnist_twins/margins.parquet -> mnist_twins/margins"""
        return self.path.removesuffix(".parquet")


class About(NamedTuple):
    """What the card says of the dataset as a whole."""

    name: str
    description: str
    version: str
    licence: str
    url: str | None  # where it is published; None: nowhere yet
    published: str  # a date
    cite: str


def data_card(about: About, files: Sequence[TableFile]) -> dict[str, Any]:
    """The card: a FileObject and a RecordSet a table, whose fields are its columns."""
    head = {"@context": _CONTEXT, "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0"}
    named = {"name": about.name, "description": about.description, "version": about.version, "license": about.licence}
    more = {"datePublished": about.published, "citeAs": about.cite} | ({"url": about.url} if about.url else {})
    parts = {"distribution": [_file(one) for one in files], "recordSet": [_records(one) for one in files]}
    return head | named | more | parts


def _file(file: TableFile) -> dict[str, Any]:
    described = {"@type": "cr:FileObject", "@id": file.path, "name": file.path, "contentUrl": file.path}
    return described | {
        "encodingFormat": "application/x-parquet",
        "contentSize": f"{file.size} B",
        "sha256": file.sha256,
    }


def _records(file: TableFile) -> dict[str, Any]:
    key = [{"@id": f"{file.name}/{name}"} for name in file.table.key]
    named = {"@type": "cr:RecordSet", "@id": file.name, "name": file.name, "description": file.table.meaning}
    return named | {"key": key, "field": [_field(file, column) for column in file.table.columns]}


def _field(file: TableFile, column: Column) -> dict[str, Any]:
    kind = column.type.value_type if pa.types.is_list(column.type) else column.type
    source = {"fileObject": {"@id": file.path}, "extract": {"column": column.name}}
    field: dict[str, Any] = {"@type": "cr:Field", "@id": f"{file.name}/{column.name}", "name": column.name}
    field |= {"description": column.meaning, "dataType": _kind(kind), "source": source}
    return field | ({"repeated": True} if pa.types.is_list(column.type) else {})


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"
