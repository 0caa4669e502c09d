"""Pieces of the report's page: tables, folded parts, images."""

from __future__ import annotations

import base64
from html import escape

import pandas as pd

from sifu.report.image import DPI


def html_table(table: pd.DataFrame, name: str, *, sortable: bool = False) -> str:
    """A table; intervals in small print. End tags of cells and rows, which HTML does not need, are left out."""
    head = "".join(f'<th scope="col">{escape(str(title))}' for title in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(str(value))}" for value in row) for row in table.itertuples(index=False)
    )
    kind = ' class="sortable"' if sortable else ""
    body = f"<thead><tr>{head}<tbody>{rows}"
    return f'<div class="scroll"><table id="{name}"{kind}>{body}</table></div>'


def _cell(text: str) -> str:
    value, bracket, rest = text.partition(" [")
    return escape(value) + (f" <small>[{escape(rest)}</small>" if bracket else "")


def folded(title: str, body: str) -> str:
    """A part of the page that opens on a click."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def image(png: bytes, title: str) -> str:
    """An image as large as it was drawn, where there is room; a wide one scrolls in its box on a phone."""
    return f'<div class="scroll">{_tag(png, title, "wide")}</div>'


def two_images(png: bytes, narrow: bytes, title: str) -> str:
    """An image, and another one that takes its place on a phone."""
    return _tag(png, title, "desk") + _tag(narrow, title, "phone")


def _tag(png: bytes, title: str, kind: str) -> str:
    width = round(int.from_bytes(png[16:20]) * 96 / DPI)  # from the PNG's header; a page has 96 dots an inch
    name = "" if kind == "wide" and width <= 700 else f' class="{kind}"'
    data = base64.b64encode(png).decode()
    return f'<img alt="{escape(title)}"{name} width="{width}" src="data:image/png;base64,{data}">'
