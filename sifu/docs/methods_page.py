"""docs/methods.md: what every method assumes, stores and promises (the paper's Table 1)."""

from __future__ import annotations

from sifu.docs.settings import NOTE
from sifu.report.methods import methods_page as table_of_methods

_MORE = (
    "\nTables of the replication on single methods: [what FATS costs against rho]"
    "(../results/paper/report/tables/fats.md), next to its formulas; [what inverted images show]"
    "(../results/paper/report/tables/inverted.md) of NoT and others.\n\n"
    "Descent-to-Delete and F2L2 are for strongly convex losses, BFU and Forget-SVGD need models of their own. They run "
    "on MNIST alone, and not on CIFAR-10 (`mnist_convex`, `mnist_convex_server`, `mnist_variational`, "
    "`mnist_particles`).\n"
)


def methods_page() -> str:
    """The whole page."""
    return (
        NOTE.format(source="sifu/methods and sifu/report/published_marks.yaml")
        + "# Methods\n\n"
        + table_of_methods()
        + _MORE
    )
