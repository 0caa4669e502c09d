"""docs/replication: which claims of the paper hold, from the tables of results/paper."""

from __future__ import annotations

from pathlib import Path

from sifu.docs.deviations import deviations_page
from sifu.docs.replication_claims import claims_page
from sifu.docs.replication_index import index_page
from sifu.docs.replication_provenance import provenance_page
from sifu.docs.replication_run import MeasuredRun, measured_run
from sifu.docs.replication_searches import searches_page

_PAGES = {
    "index.md": index_page,
    "claims.md": claims_page,
    "deviations.md": deviations_page,
    "searches.md": searches_page,
    "run.md": provenance_page,
}


def replication_pages(root: Path) -> dict[str, str]:
    """All pages by file name; what was not run says so."""
    run: MeasuredRun = measured_run(root)
    return {name: page(run).rstrip() + "\n" for name, page in _PAGES.items()}
