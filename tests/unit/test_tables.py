"""Tables that people read, from cells whose numbers are on paper."""

from __future__ import annotations

import pandas as pd

from sifu.report.statistics import bounds_by_seed, long_form, over_seeds
from sifu.report.tables import headline, latex, markdown
from sifu.schemas import CELLS, METRICS

LABELS = {"scratch": "Scratch", "fast": "Fast", "lucky": "Lucky", "original": "Original"}
STEPS = {"scratch": (100, 200), "fast": (50, 50), "lucky": (0, 40), "original": (0, 0)}
ACCURACY = {"scratch": (0.0, 0.1), "fast": (0.2, 0.0), "lucky": (0.0, 0.1), "original": (1.0, 1.0)}


def table() -> pd.DataFrame:
    """Two seeds, one request; accuracies on those who left, and their gaps to scratch."""
    cells, metrics = [], []
    for variant, steps in STEPS.items():
        for seed, cost in enumerate(steps):
            key = {"scenario": "s", "variant": variant, "stop": "target", "seed": seed, "request": 1}
            cells.append(key | {"status": "done", "rounds": cost, "client_steps": cost})
            gap = abs(ACCURACY[variant][seed] - ACCURACY["scratch"][seed])
            metrics.append(key | {"metric": "accuracy", "subset": "forget", "value": ACCURACY[variant][seed]})
            metrics.append(key | {"metric": "gap_to_scratch", "subset": "forget", "value": gap})
    frame = pd.DataFrame(cells, columns=[column.name for column in CELLS.columns])
    measured = pd.DataFrame(metrics, columns=[column.name for column in METRICS.columns])
    return headline(over_seeds(long_form(frame, measured)), LABELS).set_index("method")


def test_a_speed_up_is_paired_and_never_infinite() -> None:
    """100 / 50 and 200 / 50: 2 and 4, 3 in the mean; the interval of two values are these. 0 steps are no ratio."""
    assert table()["speed-up"].to_dict() == {
        "Scratch": "1.00 [1.00, 1.00]",
        "Fast": "3.00 [2.00, 4.00]",
        "Lucky": "no cost in 1 of 2",
        "Original": "no cost",
    }
    assert table().loc["Fast", "cost / scratch"] == "0.375 [0.250, 0.500]"


def test_a_gap_is_that_of_the_seed() -> None:
    """|0.2 - 0| and |0 - 0.1|: 0.15 in the mean, though the means of the accuracies differ by 0.05."""
    assert table().loc["Fast", "forget gap"] == "0.150 [0.100, 0.200]"
    assert table().loc["Fast", "forget accuracy"] == "0.100 [0.000, 0.200]"


def test_in_every_format() -> None:
    rows = table().reset_index()
    assert "| Fast | s | 1 | 2 of 2 | 50 [50, 50] | 0.375 [0.250, 0.500] | 3.00 [2.00, 4.00] |" in markdown(rows, "")
    assert r"no cost in 1 of 2 &" in latex(rows, "")
    assert '"3.00 [2.00, 4.00]"' in rows.to_csv(index=False)


def test_bounds_are_counted_seed_by_seed() -> None:
    """Seed 0: 1 <= 2 and 3 > 2, worst 3 / 2; seed 1: 2 <= 2. Psi strict is twice as large. A client that did nothing
    (alpha = 0) is no point.
    """
    points = [(0, 1.0), (0, 3.0), (1, 2.0), (1, 0.0)]
    alpha = pd.DataFrame([{"scenario": "s", "change": "", "seed": seed, "alpha": value} for seed, value in points])
    alpha = alpha.assign(psi_published=2.0, psi_released=2.0, psi_strict=4.0)
    found = bounds_by_seed(alpha).set_index(["rule", "seed"])[["points", "held", "worst"]]
    assert found.to_dict("index") == {
        ("published", 0): {"points": 2, "held": 1, "worst": 1.5},
        ("published", 1): {"points": 1, "held": 1, "worst": 1.0},
        ("strict", 0): {"points": 2, "held": 2, "worst": 0.75},
        ("strict", 1): {"points": 1, "held": 1, "worst": 0.5},
    }
