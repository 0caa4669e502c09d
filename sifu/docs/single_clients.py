"""Where clients leave one by one: what SIFU's promise to each of them is worth by alpha, for docs/certificates.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sifu.config.requests import RandomRequests
from sifu.docs.named import scenarios
from sifu.replication.claims.stored_tables import read_tables
from sifu.replication.published import Published
from sifu.report.judged_promises import judged_promises
from sifu.report.privacy_points import Point, psi_over_sigma

_VARIANT = "sifu"
_NOTHING = "no such scenario has been run yet."


def single_clients(root: Path, run: Published) -> str:
    """A sentence on each scenario whose requests are of one client."""
    cells, places = judged_promises(read_tables(run.folder).cells), scenarios(root)
    alone = [
        name for name, one in places.items() if isinstance(one.requests, RandomRequests) and one.requests.size == 1
    ]
    rows = cells[(cells["variant"] == _VARIANT) & (cells["stop"] == "target") & cells["alpha"].notna()]
    words = [_words(places[name].label, rows[rows["scenario"] == name]) for name in alone]
    return " ".join(word for word in words if word) or _NOTHING


def _words(title: str, rows: pd.DataFrame) -> str:
    """How many promises are exceeded by the distances that were measured; nothing without rows."""
    if rows.empty:
        return ""
    (claimed,), (delta,) = set(rows["claimed_epsilon"]), set(rows["claimed_delta"])
    ratios = psi_over_sigma(rows["alpha"], rows["sigma"]).to_numpy(float)
    epsilons = Point("epsilon", float(delta)).of(ratios)
    return (
        f"on {title}, of SIFU's promises (epsilon {claimed:g} at delta {delta:g}) {(epsilons > claimed).sum()} of "
        f"{len(rows)} are exceeded, given all draws; the median epsilon is {np.median(epsilons):.1f}, the largest "
        f"{epsilons.max():.1f}."
    )
