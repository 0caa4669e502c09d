"""docs/methods.md: what every method assumes, stores and promises (the paper's Table 1)."""

from __future__ import annotations

from sifu.docs.settings import NOTE
from sifu.report.methods import methods_page as table_of_methods


def methods_page() -> str:
    """The whole page."""
    return (
        NOTE.format(source="sifu/methods and sifu/report/published_marks.yaml") + "# Methods\n\n" + table_of_methods()
    )
