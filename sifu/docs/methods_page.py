"""docs/methods.md: what every method assumes, stores and promises (the paper's Table 1)."""

from __future__ import annotations

from sifu.docs.settings import NOTE
from sifu.report.methods import methods_page as table_of_methods

_MORE = (
    "\nTables of the replication on single methods: [what FATS costs against rho]"
    "(../results/paper/report/tables/fats.md), next to its formulas; [what inverted images show]"
    "(../results/paper/report/tables/inverted.md) of NoT and others.\n"
)


def methods_page() -> str:
    """The whole page."""
    return (
        NOTE.format(source="sifu/methods and sifu/report/published_marks.yaml")
        + "# Methods\n\n"
        + table_of_methods()
        + _MORE
    )
