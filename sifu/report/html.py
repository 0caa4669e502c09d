"""Pieces of the report's page: tables, filters, definitions, folded parts, images."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from html import escape
from pathlib import Path

import pandas as pd

from sifu.report.image import dots_per_inch, webp
from sifu.report.marked import marked

_MANY = 10  # columns, beyond which a table is set in small print


def html_table(table: pd.DataFrame, name: str, *, sortable: bool = False) -> str:
    """A table; the page's script sets intervals in small print. End tags that HTML does not need are left out."""
    head = "".join(f'<th scope="col">{escape(str(title))}' for title in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value))}" for value in row) for row in table.itertuples(index=False)
    )
    kinds = [*(["sortable"] if sortable else []), *(["dense"] if len(table.columns) > _MANY else [])]
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    body = f"<thead><tr>{head}<tbody>{rows}"
    return f'<div class="scroll"><table id="{name}"{kind}>{body}</table></div>'


def filtered_table(table: pd.DataFrame, name: str, by: Collection[str], preset: Collection[str] = ("scenario",)) -> str:
    """A sortable table with a choice of values of the columns `by`; of the columns `preset` the first one is chosen."""
    choices = "".join(_choice(table, column, preset=column in preset) for column in by)
    search = '<label>contains<input type="search" placeholder="any text"></label>'
    filters = f'<div class="filters" data-table="{name}">{choices}{search}<output></output></div>'
    return filters + html_table(table, name, sortable=True)


def _choice(table: pd.DataFrame, name: str, *, preset: bool) -> str:
    values = list(dict.fromkeys(str(value) for value in table[name]))
    chosen = values[0] if preset and values else ""
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(value) or "all"}</option>'
        for value in ["", *values]
    )
    return f'<label>{name}<select data-column="{list(table.columns).index(name)}">{options}</select></label>'


def definitions(words: Mapping[str, str], folder: Path) -> str:
    """What the columns of a table mean, folded; `folder`: where the page lies."""
    items = "".join(f"<dt>{escape(name)}<dd>{marked(text, folder)}." for name, text in words.items())
    return folded("What the columns mean", f"<dl>{items}</dl>")


def folded(title: str, body: str, kind: str = "") -> str:
    """A part of the page that opens on a click."""
    name = f' class="{kind}"' if kind else ""
    return f"<details{name}><summary>{escape(title)}</summary>{body}</details>"


def image(png: bytes, title: str) -> str:
    """An image as large as it was drawn, where there is room; a wide one scrolls in its box on a phone."""
    return f'<div class="scroll">{_tag(png, title, "wide")}</div>'


def two_images(png: bytes, narrow: bytes, title: str) -> str:
    """An image, and another one that takes its place on a phone."""
    return _tag(png, title, "desk") + _tag(narrow, title, "phone")


def _tag(png: bytes, title: str, kind: str) -> str:
    width = round(int.from_bytes(png[16:20]) * 96 / dots_per_inch(png))  # its header; a page has 96 dots an inch
    name = "" if kind == "wide" and width <= 700 else f' class="{kind}"'
    data = base64.b64encode(webp(png)).decode()
    return f'<img alt="{escape(title)}"{name} width="{width}" src="data:image/webp;base64,{data}">'
