"""The ends of the sigma sweep: is SIFU scratch with the least noise, and Last with the most?"""

from __future__ import annotations

import pandas as pd

from sifu.replication.claims.certificate import KEPT, MOST
from sifu.replication.claims.claim import Claim, Line, each_dataset, on_every_dataset, on_first_request, shown
from sifu.replication.claims.commands import rerun_stage
from sifu.replication.claims.labels import in_words
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import ALIKE, ALIKE_OR_NOT
from sifu.replication.claims.sigma import SWEPT, forget_beyond_scratch
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables, total_rounds

LAST = "last_released"
_QUOTE = (
    "In particular, we note that when unlearning with low (resp. high) values of sigma, SIFU has identical behavior to "
    "Scratch (resp. Last), as the unlearning is applied to the initial model theta_0^0 (resp. final theta_u^{N_u})."
)
_PLACE = "section Verifying the consistency of SIFU"
_SWEEP = "Of the first request, under the {} sigma of the sweep of SIFU as released."
LOW_RULE = (
    f"{_SWEEP.format('least')} A dataset holds where the interval of the rounds that it saves lies within {ALIKE:.0%} "
    "of 0, and does not where it lies outside. Not judged: the round that it goes back to, and accuracy on forgotten "
    "clients minus scratch's. As released, SIFU goes back to before the client with the largest Psi took part, the "
    "first of those that are alike: a few rounds after the start, with other clients to forget in the model."
)
HIGH_RULE = (
    f"{_SWEEP.format('largest')} A dataset holds where SIFU goes back to the round that Last starts from, the last one "
    f"of the training, in all seeds, and does not where in fewer than {MOST:.0%}. Only the round is compared: Last "
    "chooses a sigma of its own, so that the noise of the two differs. Not judged: seeds that recover to the target."
)


def like_scratch(tables: StoredTables) -> list[Line]:
    """Rounds saved under the least sigma, judged; then the round that it goes back to, and what it still knows."""

    def saved(scenario: str) -> pd.Series:
        rows = _rows(tables, scenario, least=True)
        return (1 - total_rounds(rows) / tables.totals(scenario, REFERENCE)).dropna()

    def back_to(scenario: str) -> pd.Series:
        return _rows(tables, scenario, least=True).groupby("seed")["cut_round"].mean()

    def known(scenario: str) -> pd.Series:
        return forget_beyond_scratch(tables, scenario, _rows(tables, scenario, least=True))

    what = "rounds saved under the least sigma"
    return [
        *each_dataset(what, saved, ALIKE_OR_NOT, ran=lambda name: _seeds(tables, name)),
        *shown(f"round that {in_words(SWEPT)} goes back to under the least sigma", back_to, "times", Measured.in_range),
        *shown("accuracy on forgotten clients minus scratch's, under the least sigma", known, "number"),
    ]


def like_last(tables: StoredTables) -> list[Line]:
    """Seeds in which SIFU goes back to Last's round under the largest sigma, judged; then those that recover."""

    def same_round(scenario: str) -> pd.Series:
        own = _rows(tables, scenario, least=False).groupby("seed")["cut_round"].max()
        last = tables.went_back_to(scenario, LAST)
        pair = pd.DataFrame({"own": own, "last": last}).dropna()
        return (pair["own"] == pair["last"]).astype(float)

    def recovered(scenario: str) -> pd.Series:
        rows = _rows(tables, scenario, least=False)
        return (rows["status"] == "done").groupby(rows["seed"]).all().astype(float)

    what = f"seeds in which {in_words(SWEPT)} goes back to Last's round under the largest sigma"
    ran, share = (lambda name: _seeds(tables, name)), Measured.share
    return [
        *each_dataset(what, same_round, KEPT, ran=ran, measure=share),
        *shown("seeds in which it recovers to the target then", recovered, measure=share),
    ]


def _rows(tables: StoredTables, scenario: str, *, least: bool) -> pd.DataFrame:
    """The sweep's rows under its least or its largest sigma; none where nothing was swept."""
    swept = tables.swept(scenario, SWEPT)
    return swept[(min if least else max)(swept)] if swept else tables.sweep.iloc[:0]


def _seeds(tables: StoredTables, scenario: str) -> int:
    return int(_rows(tables, scenario, least=True)["seed"].nunique())


LOW_SIGMA_IS_SCRATCH = Claim(
    "With little noise SIFU is retraining",
    "identical",
    _QUOTE,
    _PLACE,
    on_first_request(like_scratch),
    LOW_RULE,
    on_every_dataset,
    rerun_stage("sweep", "mnist", part=SWEPT),
)
HIGH_SIGMA_IS_LAST = Claim(
    "With much noise SIFU is Last",
    "identical",
    _QUOTE,
    _PLACE,
    on_first_request(like_last),
    HIGH_RULE,
    on_every_dataset,
    rerun_stage("sweep", "mnist", part=SWEPT),
)
