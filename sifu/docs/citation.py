"""CITATION.cff as BibTeX."""

from __future__ import annotations

from typing import Any


def bibtex(cff: dict[str, Any]) -> str:
    """The papers that it refers to, then the software itself."""
    entries = [_entry("inproceedings", _key(paper), paper) for paper in cff["references"]]
    return "\n".join([*entries, _entry("software", "sifu_benchmark", cff)])


def _entry(kind: str, key: str, item: dict[str, Any]) -> str:
    fields = {
        "title": "{" + " ".join(item["title"].split()) + "}",
        "author": " and ".join(_name(author) for author in item["authors"]),
        "booktitle": item.get("collection-title"),
        "volume": item.get("volume"),
        "year": item.get("year"),
        "version": item.get("version"),
        "license": item.get("license"),
        "url": item.get("url"),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value is not None]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"]) + "\n"


def _name(author: dict[str, str]) -> str:
    return author["name"].join("{}") if "name" in author else f"{author['family-names']}, {author['given-names']}"


def _key(item: dict[str, Any]) -> str:
    return f"{item['authors'][0]['family-names'].lower()}{item['year']}{item['title'].split(':')[0].lower()}"
