"""One request of other sets of clients: which method is faster than scratch, and forgets as well?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from sifu.replication.claims.claim import Claim, Line, Measured, Verdict, judged, on_every_dataset
from sifu.replication.claims.commands import rerun_stage
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.stored_tables import DATASETS, REFERENCE, SHOWN_ONLY, StoredTables

SIFU = "sifu_released"
RIVALS = ("fine_tuning", "fed_eraser_released", "fed_accum_released", "dp_released")
SHOWN = "sifu"  # as the text describes it: not judged
RULE = (
    "One request after the training, the mean over several sets of clients, seed by seed. Methods are those of the "
    "paper's code, with the rounds that it counts; SIFU as the text describes it is shown. A method is as claimed "
    "where all its recoveries reach the target, the interval of the rounds that it saves lies above 0, and that of its "
    f"accuracy on forgotten clients lies at or below {BEYOND:g} beyond scratch's. A dataset holds where SIFU alone is "
    "as claimed, is in part where another method is, too, and does not hold where SIFU is not. DP-FedAvg's own "
    "training is not in its rounds, as in the paper."
)


@dataclass(frozen=True)
class AgainstScratch:
    """A method compared with scratch."""

    saved: Measured | None  # None: a recovery missed the target, or nothing was run
    beyond: Measured | None

    @property
    def as_claimed(self) -> bool:
        if self.saved is None or self.beyond is None:
            return False
        return self.saved.low > 0 and self.beyond.high <= BEYOND


def only_sifu(tables: StoredTables) -> list[Line]:
    """What SIFU saves, judged; then what every method saves, and still knows of forgotten clients."""
    return [line for scenario in (*DATASETS, *SHOWN_ONLY) for line in _lines(tables, scenario)]


def _lines(tables: StoredTables, scenario: str) -> list[Line]:
    rows = tables.sets[tables.sets["scenario"] == scenario]
    methods = {name: _against_scratch(rows, name) for name in (SIFU, *RIVALS, SHOWN)}
    own, ran = methods[SIFU], rows.loc[rows["variant"] == SIFU, "seed"].nunique()
    others = any(methods[name].as_claimed for name in RIVALS)
    verdict = judged(own.saved, ran, lambda _: _verdict(own, others)) if scenario in DATASETS else None
    lines = [Line(scenario, f"rounds saved by {SIFU}, other sets", own.saved, verdict, "share", ran)]
    for name, method in methods.items():
        if method.saved is not None and name != SIFU:
            lines.append(Line(scenario, f"rounds saved by {name}, other sets", method.saved))
        if method.beyond is not None:
            what = f"accuracy of {name} on forgotten clients, minus scratch's, other sets"
            lines.append(Line(scenario, what, method.beyond, None, "number"))
    return lines


def _verdict(own: AgainstScratch, others: bool) -> Verdict:
    if not own.as_claimed:
        return Verdict.FAILS
    return Verdict.IN_PART if others else Verdict.HOLDS


def _against_scratch(rows: pd.DataFrame, variant: str) -> AgainstScratch:
    own, scratch = (rows[rows["variant"] == name] for name in (variant, REFERENCE))
    if own.empty or not all((part["status"] == "done").all() for part in (own, scratch)):
        return AgainstScratch(None, None)
    own, scratch = (part.groupby("seed")[["counted_rounds", "forget_accuracy"]].mean() for part in (own, scratch))
    saved = 1 - own["counted_rounds"] / scratch["counted_rounds"]
    beyond = own["forget_accuracy"] - scratch["forget_accuracy"]
    return AgainstScratch(Measured.of(saved), Measured.of(beyond))


ONLY_SIFU = Claim(
    "For other sets of clients, too, only SIFU is faster and forgets",
    "only SIFU",
    "SIFU is the only unlearning method offering an unlearning speed-up while maintaining an accuracy close to "
    "Scratch on unlearned clients.",
    "appendix, caption of the figure on sets of clients",
    only_sifu,
    RULE,
    on_every_dataset,
    rerun_stage("request_sets", "mnist"),
)
