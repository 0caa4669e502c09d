"""Clients with triggers of their own: do they notice that SIFU's model is not one trained without them?"""

from __future__ import annotations

from functools import partial

import pandas as pd

from sifu.replication.claims.claim import EVERY_DATASET, Line, Measured, Verdict, each_dataset, shown
from sifu.replication.claims.tables import REFERENCE, Tables
from sifu.report.deletion_test import verdicts

MOST, FEW = 0.9, 0.1  # of the seeds
WORDS = (
    "In the scenarios with backdoors a client gives some of its images a trigger and a label of its own, and looks for "
    "it when it has left. After the last request all who have left accuse together where the model answers their "
    "triggers more often than scratch's models of the other seeds would (the report's table `verification`). A dataset "
    f"holds where they do so in at most {FEW:.0%} of the seeds, does not where in at least {MOST:.0%}, and is in part "
    f"between. {EVERY_DATASET} Beside it the same of other methods, and triggers that are answered beyond scratch's "
    "(shares of all, the mean over requests)."
)
_BESIDE = {
    REFERENCE: "scratch",
    "sifu_strict": "strict SIFU",
    "fed_eraser_searched": "FedEraser",
    "fine_tuning": "fine-tuning",
}


def unnoticed(value: Measured) -> Verdict:
    if value.mean <= FEW:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean >= MOST else Verdict.IN_PART


def goes_unnoticed(tables: Tables) -> list[Line]:
    """The share of seeds in which SIFU is accused, judged; others, and how often triggers are answered, beside it."""
    what = "seeds in which those who left accuse {}"
    accused, answered = partial(_accused, tables), partial(_answered, tables)
    judged = each_dataset(
        what.format("SIFU"), partial(accused, "sifu"), unnoticed, ran=lambda name: tables.ran(_marked(name), "sifu")
    )
    others = [shown(what.format(label), partial(accused, name)) for name, label in _BESIDE.items()]
    named = {"sifu": "SIFU"} | {name: label for name, label in _BESIDE.items() if name != REFERENCE}
    rates = [shown(f"triggers that {label} answers beyond scratch", partial(answered, n)) for n, label in named.items()]
    return [*judged, *(line for lines in (*others, *rates) for line in lines)]


def _marked(scenario: str) -> str:
    return f"{scenario}_backdoor"


def _checks(tables: Tables, scenario: str, *variants: str) -> pd.DataFrame:
    rows = tables.checks[tables.checks["scenario"] == _marked(scenario)]
    return rows[rows["variant"].isin(variants) & (rows["stop"] == "target")]


def _accused(tables: Tables, variant: str, scenario: str) -> pd.Series:
    """1 where all who have left accuse a model together after the last request, by seed."""
    rows = _checks(tables, scenario, variant, REFERENCE)
    found = verdicts(rows[rows["request"] == rows["request"].max()])
    return found[found["variant"] == variant].set_index("seed")["together"].astype(float)


def _answered(tables: Tables, variant: str, scenario: str) -> pd.Series:
    """The share of triggers that a model answers minus scratch's, by seed, the mean over requests."""
    rows = _checks(tables, scenario, variant, REFERENCE)
    rate = (rows["successes"] / rows["examples"]).groupby([rows["variant"], rows["seed"], rows["request"]]).mean()
    means = {name: group.groupby("seed").mean() for name, group in rate.groupby("variant")}
    if not {variant, REFERENCE} <= set(means):
        return pd.Series(dtype=float)
    return (means[variant] - means[REFERENCE]).dropna()
