"""A variant: a method with its settings and a name in figures."""

from __future__ import annotations

from typing import Any

from sifu.catalog.methods import METHODS
from sifu.config.fields import setting, settings, shown_name
from sifu.config.known import known
from sifu.config.search import Search


@settings
class Variant:
    """A method with its settings."""

    label: str = setting("name in figures and tables", shown_name())
    method: str = setting("which method (`python -m sifu methods`)", known(METHODS))
    settings: dict[str, Any] | None = setting("the method's own hyper-parameters", default=None)
    certificate: dict[str, Any] | None = setting(
        "keys of the scenario's certificate that this variant changes", default=None
    )
    search: Search | None = setting("search for the best values of settings; null: use the given ones", default=None)
