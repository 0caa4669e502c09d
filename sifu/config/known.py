"""A setting that names something: of a catalog, of an installed package, or as "module:name"."""

from __future__ import annotations

from typing import Any

from sifu.catalog.lookup import refuse_missing
from sifu.catalog.registry import Catalog
from sifu.catalog.unlisted import missing_line
from sifu.config.allowed import Allowed
from sifu.errors import SifuError, did_you_mean


def known(catalog: Catalog[Any]) -> Allowed:
    """A name of a catalog, or the "module:name" of something that exists."""
    text = " | ".join([*catalog.own, "module:name (docs/plugins.md)"])
    return Allowed(text, lambda value: value in catalog and not _problem(value), lambda value: _hint(catalog, value))


def _problem(value: str) -> str:
    """What is wrong with a "module:name"; empty: nothing, or it is another name."""
    try:
        if ":" in value:
            refuse_missing(value)
    except SifuError as error:
        return str(error).removeprefix("the config: ")
    return ""


def _hint(catalog: Catalog[Any], value: Any) -> str:
    """What may have been meant by a name that is not known."""
    if value in catalog:
        return f" ({_problem(value)})"
    if isinstance(value, str) and all(part.isidentifier() for part in value.split(".")) and "." in value:
        return f" (did you mean {':'.join(value.rsplit('.', 1))}?)"
    return missing_line(catalog.kind, value) or did_you_mean(value, catalog.names())
