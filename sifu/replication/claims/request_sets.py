"""One request of other sets of clients: which method is faster than scratch, and forgets as well?"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import pandas as pd

from sifu.replication.claims.claim import Claim, Line, judged, on_every_dataset
from sifu.replication.claims.commands import rerun_stage
from sifu.replication.claims.forgetting import BEYOND, noted
from sifu.replication.claims.labels import LABELS, in_words
from sifu.replication.claims.measured import Measured, above, at_most
from sifu.replication.claims.stored_tables import DATASETS, REFERENCE, SHOWN_ONLY, StoredTables
from sifu.replication.claims.verdict import PValues, Rule, Verdict
from sifu.report.floor import AGAIN

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

    @property
    def student(self) -> AgainstScratch:
        """The same by Student's intervals, where there are any."""
        if self.saved is None or self.beyond is None:
            return self
        return AgainstScratch(self.saved.student or self.saved, self.beyond.student or self.beyond)

    @property
    def p_value(self) -> float | None:
        """Of being as claimed: both parts have to be shown, so the larger p counts."""
        if self.saved is None or self.beyond is None:
            return None
        parts = (above(0.0).p_value(self.saved), at_most(BEYOND).p_value(self.beyond))
        return max(part for part in parts if part is not None)


def only_sifu(tables: StoredTables) -> list[Line]:
    """What SIFU saves, judged; then what every method saves, and still knows of forgotten clients."""
    return [line for scenario in (*DATASETS, *SHOWN_ONLY) for line in _lines(tables, scenario)]


def _lines(tables: StoredTables, scenario: str) -> list[Line]:
    rows = tables.sets[tables.sets["scenario"] == scenario]
    answers: dict[Hashable, pd.DataFrame] = dict(iter(rows.groupby("variant")))
    methods = {name: _against_scratch(answers, name) for name in (SIFU, *RIVALS, SHOWN)}
    own, ran = methods[SIFU], rows.loc[rows["variant"] == SIFU, "seed"].nunique()
    lines = [Line(scenario, f"rounds saved by {LABELS[SIFU]}, other sets", own.saved, None, "share", ran)]
    if scenario in DATASETS:
        found = judged(own.saved, ran, Rule(lambda _: _both(methods)))
        lines = [replace(lines[0], verdict=found, p=PValues(own.p_value))]
    for name, method in methods.items():
        if method.saved is not None and name != SIFU:
            lines.append(Line(scenario, f"rounds saved by {LABELS[name]}, other sets", method.saved))
        if method.beyond is not None:
            what = f"accuracy of {in_words(name)} on forgotten clients, minus scratch's, other sets"
            lines.append(noted(Line(scenario, what, method.beyond, None, "number"), _floor(rows)))
    return lines


def _both(methods: dict[str, AgainstScratch]) -> Verdict:
    """The verdict by the bootstrap's intervals and by Student's; undecided where they differ."""
    found = _verdict(methods)
    return found if found is _verdict({name: of.student for name, of in methods.items()}) else Verdict.UNDECIDED


def _verdict(methods: dict[str, AgainstScratch]) -> Verdict:
    if not methods[SIFU].as_claimed:
        return Verdict.FAILS
    return Verdict.IN_PART if any(methods[name].as_claimed for name in RIVALS) else Verdict.HOLDS


def _floor(rows: pd.DataFrame) -> float | None:
    """The mean absolute gap of scratch, run again; None where it was not."""
    again, scratch = (rows[rows["variant"] == name].groupby("seed")["forget_accuracy"] for name in (AGAIN, REFERENCE))
    gaps = (again.mean() - scratch.mean()).dropna().abs()
    return float(gaps.mean()) if len(gaps) else None


def _against_scratch(answers: dict[Hashable, pd.DataFrame], variant: str) -> AgainstScratch:
    if not {variant, REFERENCE} <= set(answers):
        return AgainstScratch(None, None)
    own, scratch = answers[variant], answers[REFERENCE]
    if not all((part["status"] == "done").all() for part in (own, scratch)):
        return AgainstScratch(None, None)
    own, scratch = (part.groupby("seed")[["counted_rounds", "forget_accuracy"]].mean() for part in (own, scratch))
    saved = 1 - own["counted_rounds"] / scratch["counted_rounds"]
    beyond = own["forget_accuracy"] - scratch["forget_accuracy"]
    return AgainstScratch(Measured.of(saved), Measured.of(beyond))


ONLY_SIFU = Claim(
    "For other sets of clients, too, only SIFU is faster and forgets",
    "only SIFU",
    "We retrieve the same conclusions made in 4: SIFU is the only unlearning method offering an unlearning "
    "speed-up while maintaining an accuracy close to "
    "Scratch on unlearned clients.",
    "appendix, caption of the figure on sets of clients",
    only_sifu,
    RULE,
    on_every_dataset,
    rerun_stage("request_sets", "mnist"),
)
