"""Clients with triggers of their own: do they notice that SIFU's model is not one trained without them?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd

from sifu.replication.claims.claim import (
    NOT_IN_PAPER,
    Claim,
    Line,
    each_dataset,
    on_every_dataset,
    shown,
)
from sifu.replication.claims.commands import rerun_cell
from sifu.replication.claims.labels import LABELS
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables
from sifu.replication.claims.verdict import Rule, Verdict
from sifu.report.deletion_test import CANNOT_TELL, ENOUGH_POWER, ORIGINAL, verdicts

MOST, FEW = 0.9, 0.1  # of the seeds
RULE = (
    "In scenarios with backdoors a client gives some of its images a trigger and a label of its own. After the last "
    "request all forgotten clients query the model together. They accuse it if it answers their triggers more often "
    "than another honest model would, given how often scratch's model of the same seed answers each of them (the "
    "report's table `verification`). "
    f"A dataset holds where they accuse SIFU in at most {FEW:.0%} of the seeds, and does not where in at least "
    f"{MOST:.0%}. The power of the test is the share of seeds in which they accuse the original model, which forgot "
    f"nobody. Below {ENOUGH_POWER:.0%} a test that accuses nobody cannot tell: the dataset is not testable. Not "
    "judged: other methods, and the share of triggers answered beyond scratch's (mean over requests). Scratch is "
    "compared with its model of another request."
)
_COMPARED = {
    REFERENCE: "scratch",
    **{name: LABELS[name] for name in ("sifu_released", "sifu_strict", "fed_eraser_released", "fine_tuning")},
    ORIGINAL: "the original model",
}


def unnoticed(value: Measured) -> Verdict:
    if value.mean <= FEW:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean >= MOST else Verdict.IN_PART


UNNOTICED = Rule(unnoticed)  # by the share: no test


def goes_unnoticed(tables: StoredTables) -> list[Line]:
    """The share of seeds in which SIFU is accused, judged; then other methods, and how many triggers are answered."""
    what = "seeds in which forgotten clients accuse {}"
    accused, answered = partial(_accused, tables), partial(_answered, tables)
    ran, share = (lambda name: tables.ran(_marked(name), "sifu")), Measured.share
    lines = each_dataset(what.format("SIFU"), partial(accused, "sifu"), UNNOTICED, "share", ran, share)
    judged = [_with_power(line, share(accused(ORIGINAL, line.scenario))) for line in lines]
    others = [shown(what.format(label), partial(accused, name), measure=share) for name, label in _COMPARED.items()]
    labels = {"sifu": "SIFU"} | {name: label for name, label in _COMPARED.items() if name != REFERENCE}
    rates = [
        shown(f"triggers answered beyond scratch by {label}", partial(answered, name)) for name, label in labels.items()
    ]
    return [*judged, *(line for lines in (*others, *rates) for line in lines)]


def _with_power(line: Line, power: Measured | None) -> Line:
    """The line with the power of the test, where it is low; what goes unnoticed is not testable then. `power`: of the
    original model, None where that was not run.
    """
    if line.value is None or line.value.mean >= ENOUGH_POWER or (power is not None and power.mean >= ENOUGH_POWER):
        return line
    note = f"{CANNOT_TELL}: power {'unknown' if power is None else f'{power.mean:.0%}'}"
    verdict = Verdict.NOT_RUN if power is None else Verdict.NOT_TESTABLE
    return replace(line, note=note, verdict=None if line.verdict is None else verdict)


def _marked(scenario: str) -> str:
    return f"{scenario}_backdoor"


def _checks(tables: StoredTables, scenario: str, *variants: str) -> pd.DataFrame:
    rows = tables.checks[tables.checks["scenario"] == _marked(scenario)]
    return rows[rows["variant"].isin(variants) & (rows["stop"] == "target")]


def _accused(tables: StoredTables, variant: str, scenario: str) -> pd.Series:
    """1 where all forgotten clients together accuse a model after the last request, else 0, by seed."""
    rows = _checks(tables, scenario, variant, REFERENCE)
    if rows.empty:
        return pd.Series(dtype=float)
    found = verdicts(rows)
    last = found[(found["variant"] == variant) & (found["request"] == rows["request"].max())]
    return last.set_index("seed")["together"].astype(float)


def _answered(tables: StoredTables, variant: str, scenario: str) -> pd.Series:
    """The share of triggers that a model answers minus scratch's, by seed, the mean over requests."""
    rows = _checks(tables, scenario, variant, REFERENCE)
    rate = (rows["successes"] / rows["examples"]).groupby([rows["variant"], rows["seed"], rows["request"]]).mean()
    means = {name: group.groupby("seed").mean() for name, group in rate.groupby("variant")}
    if not {variant, REFERENCE} <= set(means):
        return pd.Series(dtype=float)
    return (means[variant] - means[REFERENCE]).dropna()


SIFU_GOES_UNNOTICED = Claim(
    "With backdoors, forgotten clients cannot tell SIFU's model from a retrained one",
    "-",
    "Whether forgotten clients can tell SIFU's model from one that was trained without them, by their triggers.",
    NOT_IN_PAPER,
    goes_unnoticed,
    RULE,
    on_every_dataset,
    rerun_cell("mnist_backdoor", "sifu"),
)
