"""Appendix A: can fine-tuning a linear regression ever reach the model that is trained without an example?"""

from __future__ import annotations

import pandas as pd

from sifu.replication.claims.certificate import KEPT, MOST
from sifu.replication.claims.claim import Claim, Line, on_every_dataset, with_verdict
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import EXAMPLE, StoredTables

ROUNDING = 1e-6
RULE = (
    "The paper proves it; here the example is run. More features than examples, one example is forgotten: fine-tuning "
    "and retraining take the same steps on the others. A seed counts where their distance in the null space of the "
    f"other examples is more than {ROUNDING:g} and no smaller after the last step than before the first (to a relative "
    f"{ROUNDING:g}). Holds: in all seeds. Does not hold: in fewer than {MOST:.0%}. Not judged: distances after the "
    "last step."
)


def stays_apart(tables: StoredTables) -> list[Line]:
    """Seeds in which what an example left behind stays, judged; then how far the two models are apart at the end."""
    steps = tables.null_space.groupby("seed")
    first, last = steps.first(), steps.last()
    stays = (last["null_space"] > ROUNDING) & (last["null_space"] >= (1 - ROUNDING) * first["null_space"])
    what = "seeds in which what the example left behind stays"
    judged = Line(EXAMPLE, what, Measured.share(stays.astype(float)), None, "share", len(first))
    apart = {"the null space": last["null_space"], "the span": last["span"]}
    return [with_verdict(judged, KEPT), *(_distance(name, values) for name, values in apart.items())]


def _distance(place: str, values: pd.Series) -> Line:
    return Line(
        EXAMPLE, f"distance from retraining after the last step, in {place}", Measured.of(values), None, "times"
    )


FINE_TUNING_NEVER_REACHES = Claim(
    "On a linear regression no amount of fine-tuning reaches retraining",
    "never",
    "We show with this simple example that, upon unlearning a data sample, no amount of fine-tuning on the model "
    "theta^* can lead to the same model obtained when retraining from a random initial model.",
    "appendix A",
    stays_apart,
    RULE,
    on_every_dataset,
    ".venv/bin/python -m sifu null_space --results results/one",
)
