"""One request of other sets of clients: who is faster than scratch, and forgets as it does?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from sifu.replication.claims.claim import EVERY_DATASET, Line, Measured, Verdict, judged
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.tables import BESIDE, DATASETS, REFERENCE, Tables

RIVALS = ("fine_tuning", "fed_eraser_searched", "fed_accum", "dp_released")
WORDS = (
    "One request after the training, the mean over several sets of clients, seed by seed. A method is as claimed where "
    "all its recoveries reach the target, the interval of the rounds that it saves lies above 0, and that of its "
    f"accuracy on those who left lies at or below {BEYOND:g} beyond scratch's. A dataset holds where SIFU is and no "
    "other method is, is in part where another one is, too, and does not hold where SIFU is not. "
    f"{EVERY_DATASET} The training of DP-FedAvg is not in its rounds, as in the paper."
)


@dataclass(frozen=True)
class Beside:
    """A method beside scratch."""

    saved: Measured | None  # None: a recovery did not get there, or nothing was run
    beyond: Measured | None

    @property
    def as_claimed(self) -> bool:
        if self.saved is None or self.beyond is None:
            return False
        return self.saved.low > 0 and self.beyond.high <= BEYOND


def only_sifu(tables: Tables) -> list[Line]:
    """What SIFU saves, judged beside the others; then what every method saves, and still knows."""
    return [line for scenario in (*DATASETS, *BESIDE) for line in _lines(tables, scenario)]


def _lines(tables: Tables, scenario: str) -> list[Line]:
    rows = tables.sets[tables.sets["scenario"] == scenario]
    found = {name: _beside(rows, name) for name in ("sifu", *RIVALS)}
    own, ran = found["sifu"], rows.loc[rows["variant"] == "sifu", "seed"].nunique()
    others = any(found[name].as_claimed for name in RIVALS)
    verdict = judged(own.saved, ran, lambda _: _verdict(own, others)) if scenario in DATASETS else None
    lines = [Line(scenario, "rounds saved by SIFU, other sets", own.saved, verdict, "share", ran)]
    for name, beside in found.items():
        if beside.saved is not None and name != "sifu":
            lines.append(Line(scenario, f"rounds saved by {name}, other sets", beside.saved))
        if beside.beyond is not None:
            what = f"accuracy of {name} on those who left, minus scratch's, other sets"
            lines.append(Line(scenario, what, beside.beyond, None, "number"))
    return lines


def _verdict(own: Beside, others: bool) -> Verdict:
    if not own.as_claimed:
        return Verdict.FAILS
    return Verdict.IN_PART if others else Verdict.HOLDS


def _beside(rows: pd.DataFrame, variant: str) -> Beside:
    own, scratch = (rows[rows["variant"] == name] for name in (variant, REFERENCE))
    if own.empty or not all((part["status"] == "done").all() for part in (own, scratch)):
        return Beside(None, None)
    own, scratch = (part.groupby("seed")[["rounds", "forget_accuracy"]].mean() for part in (own, scratch))
    saved, beyond = 1 - own["rounds"] / scratch["rounds"], own["forget_accuracy"] - scratch["forget_accuracy"]
    return Beside(Measured.of(saved), Measured.of(beyond))
