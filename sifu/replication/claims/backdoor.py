"""Clients with triggers of their own: do they notice that SIFU's model is not one trained without them?"""

from __future__ import annotations

from functools import partial

import pandas as pd

from sifu.replication.claims.claim import (
    NOT_IN_PAPER,
    Claim,
    Line,
    Measured,
    Verdict,
    each_dataset,
    on_every_dataset,
    shown,
)
from sifu.replication.claims.commands import rerun_cell
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables
from sifu.report.deletion_test import verdicts

MOST, FEW = 0.9, 0.1  # of the seeds
RULE = (
    "In scenarios with backdoors a client gives some of its images a trigger and a label of its own. After the last "
    "request all forgotten clients query the model together. They accuse it if it answers their triggers more often "
    "than scratch's models of the other seeds would (the report's table `verification`). "
    f"A dataset holds where they accuse SIFU in at most {FEW:.0%} of the seeds, and does not where in at least "
    f"{MOST:.0%}. Not judged: other methods, and the share of triggers answered beyond scratch's (mean over requests)."
)
_COMPARED = {
    REFERENCE: "scratch",
    "sifu_released": "SIFU as released",
    "sifu_strict": "strict SIFU",
    "fed_eraser_released": "FedEraser as released",
    "fine_tuning": "fine-tuning",
}


def unnoticed(value: Measured) -> Verdict:
    if value.mean <= FEW:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean >= MOST else Verdict.IN_PART


def goes_unnoticed(tables: StoredTables) -> list[Line]:
    """The share of seeds in which SIFU is accused, judged; then other methods, and how many triggers are answered."""
    what = "seeds in which forgotten clients accuse {}"
    accused, answered = partial(_accused, tables), partial(_answered, tables)
    judged = each_dataset(
        what.format("SIFU"), partial(accused, "sifu"), unnoticed, ran=lambda name: tables.ran(_marked(name), "sifu")
    )
    others = [shown(what.format(label), partial(accused, name)) for name, label in _COMPARED.items()]
    labels = {"sifu": "SIFU"} | {name: label for name, label in _COMPARED.items() if name != REFERENCE}
    rates = [
        shown(f"triggers that {label} answers beyond scratch", partial(answered, name))
        for name, label in labels.items()
    ]
    return [*judged, *(line for lines in (*others, *rates) for line in lines)]


def _marked(scenario: str) -> str:
    return f"{scenario}_backdoor"


def _checks(tables: StoredTables, scenario: str, *variants: str) -> pd.DataFrame:
    rows = tables.checks[tables.checks["scenario"] == _marked(scenario)]
    return rows[rows["variant"].isin(variants) & (rows["stop"] == "target")]


def _accused(tables: StoredTables, variant: str, scenario: str) -> pd.Series:
    """1 where all forgotten clients together accuse a model after the last request, else 0, by seed."""
    rows = _checks(tables, scenario, variant, REFERENCE)
    judgements = verdicts(rows[rows["request"] == rows["request"].max()])
    return judgements[judgements["variant"] == variant].set_index("seed")["together"].astype(float)


def _answered(tables: StoredTables, variant: str, scenario: str) -> pd.Series:
    """The share of triggers that a model answers minus scratch's, by seed, the mean over requests."""
    rows = _checks(tables, scenario, variant, REFERENCE)
    rate = (rows["successes"] / rows["examples"]).groupby([rows["variant"], rows["seed"], rows["request"]]).mean()
    means = {name: group.groupby("seed").mean() for name, group in rate.groupby("variant")}
    if not {variant, REFERENCE} <= set(means):
        return pd.Series(dtype=float)
    return (means[variant] - means[REFERENCE]).dropna()


SIFU_GOES_UNNOTICED = Claim(
    "Clients with backdoors do not notice SIFU",
    "-",
    "Whether forgotten clients can tell SIFU's model from one that was trained without them, by their triggers.",
    NOT_IN_PAPER,
    goes_unnoticed,
    RULE,
    on_every_dataset,
    rerun_cell("mnist_backdoor", "sifu"),
)
