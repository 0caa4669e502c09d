"""With watermarked data: is any other method as fast as SIFU, and forgets as well?"""

from __future__ import annotations

import pandas as pd

from sifu.claims.claim import EVERY_DATASET, Line, Measured, Verdict, each_dataset, shown, unjudged
from sifu.claims.forgetting import beyond_scratch
from sifu.claims.rounds import share_of_scratch
from sifu.claims.tables import Tables

NETWORKS = ("fashionmnist", "cifar10", "cifar100", "celeba")  # trained with a CNN
RIVALS = ("scratch", "fine_tuning", "last", "fed_eraser_searched", "fed_accum", "dp_released")
WELL, BADLY = 0.9, 0.1  # of the seeds
WORDS = (
    "Another method (FedEraser and FedAccum as corrected) matches SIFU in a seed where it takes no more rounds over "
    "all requests, each to the target, and its accuracy on those who left is no higher; one that does not reach the "
    f"target matches nobody. A dataset holds where nobody matches SIFU in at least {WELL:.0%} of the seeds, does not "
    f"where in at most {BADLY:.0%}, and is in part between. MNIST, without a CNN, is shown and not judged. "
    + EVERY_DATASET.replace("all five datasets", "all four datasets with a CNN")
    + " Beside it what SIFU saves there, and how much better than scratch's its model knows those who left."
)


def unmatched(value: Measured) -> Verdict:
    if value.mean >= WELL:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean <= BADLY else Verdict.IN_PART


def outperforms(tables: Tables) -> list[Line]:
    """The share of seeds in which nobody matches SIFU, on each dataset with watermarks."""

    def ran(name: str) -> int:
        return tables.ran(_marked(name), "sifu")

    lines = each_dataset("seeds in which no other method matches SIFU", lambda n: _alone(tables, n), unmatched, ran=ran)
    return [
        *(line for line in lines if line.scenario in NETWORKS),
        *unjudged(line for line in lines if line.scenario not in NETWORKS),
        *shown("rounds saved by SIFU", lambda name: 1 - share_of_scratch(tables, _marked(name), "sifu")),
        *shown(
            "accuracy of SIFU on those who left, minus scratch's",
            lambda name: beyond_scratch(tables, _marked(name), "sifu"),
            "number",
        ),
    ]


def _marked(scenario: str) -> str:
    return f"{scenario}_watermark"


def _alone(tables: Tables, scenario: str) -> pd.Series:
    """1 where nobody matches SIFU, 0 where somebody does; of the seeds in which SIFU reached the target.

    All rivals must have been run: nobody outperforms those who were not there.
    """
    marked = _marked(scenario)
    if not all(tables.ran(marked, rival) for rival in RIVALS):
        return pd.Series(dtype=float)
    rounds, forgot = share_of_scratch(tables, marked, "sifu"), beyond_scratch(tables, marked, "sifu")
    own = pd.DataFrame({"rounds": rounds, "forgot": forgot}).dropna()
    matched = pd.Series(data=False, index=own.index)
    for rival in RIVALS:
        fast = share_of_scratch(tables, marked, rival).reindex(own.index) <= own["rounds"]
        clean = beyond_scratch(tables, marked, rival).reindex(own.index) <= own["forgot"]
        matched |= fast & clean
    return (~matched).astype(float)
