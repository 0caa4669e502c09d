"""What promises were worth by the earlier count, which left forgotten clients' seats empty, and what they are worth."""

from __future__ import annotations

import pandas as pd

from sifu.docs.measured_text import table_text
from sifu.docs.replication_run import MeasuredRun
from sifu.report.privacy_points import ROUNDING, claimed_ratio, psi_over_sigma
from sifu.report.statistics import FINISHED

_WORDS = """\
Earlier rows compared with a run in which forgotten clients' seats stay empty. Nobody makes that run: now they are
refilled ([certificates.md](../certificates.md)). A promise is kept where the ratio of sensitivity to noise, for all
clients of the request together, is within the claimed (epsilon, delta); `by alpha`: with the measured distance, which
assumes nothing. Numbers are answers, one a request and seed; a dash: to be counted again.
"""
_COUNTS = {"empty_psi": "seats empty", "strict_psi": "seats refilled", "alpha": "by alpha"}


def two_counts(run: MeasuredRun) -> str:
    """A row a scenario and variant whose promise rests on noise: in how many answers it is kept by each count."""
    cells = run.tables.cells
    noisy = cells[(cells["stop"] == "target") & cells["status"].isin(FINISHED) & cells["empty_psi"].notna()]
    rows = [
        [run.titles.get(str(scenario), str(scenario)), run.labels.get(str(variant), str(variant)), *_row(group)]
        for (scenario, variant), group in noisy[noisy["sigma"] > 0].groupby(["scenario", "variant"])
    ]
    if not rows:
        return f"{_WORDS}\nNot run.\n"
    return f"{_WORDS}\n{table_text(rows, 'dataset', 'method', *_COUNTS.values(), 'refilled over empty, median')}"


def _row(group: pd.DataFrame) -> list[str]:
    pairs = zip(group["claimed_epsilon"], group["claimed_delta"], strict=True)
    claim = pd.Series([claimed_ratio(float(epsilon), float(delta)) for epsilon, delta in pairs], group.index)
    kept = [_kept(psi_over_sigma(group[name], group["sigma"]), claim) for name in _COUNTS]
    moved = group[group["empty_psi"] > 0]
    factor = (moved["strict_psi"] / moved["empty_psi"]).median()
    return [*kept, "-" if pd.isna(factor) else f"{factor:.2f}"]


def _kept(ratio: pd.Series, claim: pd.Series) -> str:
    known = ratio.notna()
    return f"{int((ratio <= claim * (1 + ROUNDING))[known].sum())} of {int(known.sum())}" if known.any() else "-"
