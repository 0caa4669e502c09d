"""What a certificate is worth, strictly counted, with seats refilled: for whom it is made, and for a whole request."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sifu.replication.claims.bound import held_strictly, hidden
from sifu.replication.claims.claim import (
    NOT_IN_PAPER,
    Claim,
    Line,
    Measure,
    each_dataset,
    on_every_dataset,
    shown,
)
from sifu.replication.claims.commands import rerun_cell
from sifu.replication.claims.labels import LABELS, in_words
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables
from sifu.replication.claims.verdict import Rule, Verdict
from sifu.report.privacy_points import POINTS, ROUNDING, Point

MOST = 0.5  # of the seeds
_STRICT = "sifu_strict"
_LIMITED = "limited by what was measured"
RULE = (
    "A promise, one a request, is kept where the actual delta at the claimed epsilon is at most the claimed one. It "
    "is judged for whom it is made: for the worst client of the request where it covers each client alone (SIFU as "
    "published), for all clients forgotten so far where it covers everyone, else for all clients of the request "
    "together (strict SIFU). An answer that diverged counts as well, as a promise is about the model that "
    "recovery starts from; left out is what starts from a lineage that had diverged before. Requests of a seed depend "
    "on each other, so seeds are counted, those in which all promises are kept. A dataset holds where these "
    f"are all seeds, and does not where they are fewer than {MOST:.0%}. The strict count still assumes that B = 1 "
    "bounds the contraction. Not judged: in how many seeds the promise would be kept for all clients of each request "
    "together; and, without an assumption on B, a few clients a seed, each taken as the only one to forget. A client "
    "is hidden where, at the round that SIFU would go back to, the model is no further from that of a training "
    "without the client (alpha) than the noise hides. Clients that had not taken part by then are left out. Ratios, "
    "epsilons and deltas of the worst request are medians over seeds, with the least and the largest in round brackets."
)
STRICT_RULE = (
    "As for SIFU's certificate. Strict SIFU is built by the count that it is judged by, so it always keeps this "
    "promise. Therefore what is measured counts, too, and no verdict is better than it allows. First, alpha of the "
    "answers: a request is hidden where the model before the noise is no further from that of a training without the "
    "request's clients than the noise hides. A dataset is in part at best where a request is not hidden, and does not "
    f"hold where all requests are hidden in fewer than {MOST:.0%} of the seeds. Second, single clients: a dataset is "
    "in part at best where strict Psi is below alpha at a point or was not measured, and does not hold where fewer "
    f"than {MOST:.0%} of the clients are hidden."
)


def kept(value: Measured) -> Verdict:
    if value.mean == 1:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean < MOST else Verdict.IN_PART


KEPT = Rule(kept)  # by the share: no test


def promise(variant: str, preset: str) -> Measure:
    """Seeds in which all promises are kept, judged; then the share of promises, single clients that are hidden, counted
    by `preset`, seeds in which whole requests would be covered, and the worst request of a seed: its ratios to the
    claim, and its epsilon and delta at other points.
    """
    label = LABELS[variant]
    said = in_words(variant)

    def measure(tables: StoredTables) -> list[Line]:
        def share(scenario: str, *, together: bool = False) -> pd.Series:
            over = tables.promises(scenario, variant, "delta", together=together)
            return (over <= 1 + ROUNDING).groupby("seed").mean()

        def in_all(scenario: str) -> pd.Series:
            return (share(scenario) == 1).astype(float)

        def for_all(scenario: str) -> pd.Series:
            return (share(scenario, together=True) == 1).astype(float)

        def alone(scenario: str) -> pd.Series:
            return hidden(tables, scenario, preset)

        what = f"seeds in which {said} keeps its delta at every request"
        ran, exact, spread = (lambda name: tables.ran(name, variant)), Measured.share, Measured.in_range
        return [
            *each_dataset(what, in_all, KEPT, "share", ran, exact),
            *shown(f"requests where {said} keeps its delta", share, measure=spread),
            *shown(f"single clients that {said} really hides", alone, measure=spread),
            *shown(f"seeds in which {said} would keep it for all clients together", for_all, measure=exact),
            *_worst(tables, variant, label),
        ]

    return measure


def _worst(tables: StoredTables, variant: str, label: str) -> list[Line]:
    """Numbers of the worst request of a seed: medians over seeds, as a single one may be infinite."""
    names = {"delta": "actual over claimed delta", "epsilon": "actual over claimed epsilon"}
    lines = []
    for scenario in (*DATASETS, *SHOWN_ONLY):
        ratio = tables.ratios(scenario, variant).groupby("seed").max()
        values = {text: tables.promises(scenario, variant, of).groupby("seed").max() for of, text in names.items()}
        values |= {text: _at(point, ratio) for text, point in POINTS.items() if len(ratio)}
        measured = {f"{text} of {label}, worst request": Measured.median(found) for text, found in values.items()}
        lines += [Line(scenario, what, value, None, "times") for what, value in measured.items() if value is not None]
    return lines


def _at(point: Point, ratio: pd.Series) -> pd.Series:
    """Epsilon or delta at a readable point."""
    return pd.Series(point.of(ratio.to_numpy(float)), ratio.index)


def strict_promise(tables: StoredTables) -> list[Line]:
    """The same of strict SIFU; its verdicts are limited by what was measured of its answers and of single clients."""
    counted = promise(_STRICT, "strict")(tables)
    return [*(_bounded(tables, line) for line in counted), *_as_measured(tables)]


def _as_measured(tables: StoredTables) -> list[Line]:
    """The share of requests that are hidden as measured, then the seeds in which all of them are."""

    def hidden_requests(scenario: str) -> pd.Series:
        return 1 - tables.too_far(scenario, _STRICT).groupby("seed").mean()

    return [
        *shown(f"requests that {in_words(_STRICT)} hides as measured", hidden_requests, measure=Measured.in_range),
        *shown("seeds in which it hides all of them", lambda name: _hides_all(tables, name), measure=Measured.share),
    ]


def _hides_all(tables: StoredTables, scenario: str) -> pd.Series:
    """By seed, 1 where the clients of every request are hidden as measured, else 0; none where alpha is not known."""
    return 1.0 - tables.too_far(scenario, _STRICT).groupby("seed").any()


def _bounded(tables: StoredTables, line: Line) -> Line:
    """The line with a verdict at best as good as the measurements allow."""
    if line.verdict not in (Verdict.HOLDS, Verdict.IN_PART):
        return line
    clients, seeds = hidden(tables, line.scenario, "strict"), _hides_all(tables, line.scenario)
    shares = [share.mean for share in map(Measured.of, (clients, seeds)) if share is not None]
    if any(round(share, 9) < MOST for share in shares):  # a mean of thirds may be a bit below its value
        return replace(line, verdict=Verdict.FAILS, note=_LIMITED)
    if held_strictly(tables, line.scenario) and bool((seeds == 1).all()):
        return line
    return replace(line, verdict=Verdict.IN_PART, note=_LIMITED)


SIFU_KEEPS_ITS_PROMISE = Claim(
    "SIFU's certificate is worth what it says",
    "-",
    "The promise of SIFU as published, counted strictly: does the claimed delta hold?",
    NOT_IN_PAPER,
    promise("sifu", "published"),
    RULE,
    on_every_dataset,
    rerun_cell("mnist", "sifu"),
)
STRICT_SIFU_KEEPS_ITS_PROMISE = Claim(
    "Strict SIFU's certificate is worth what it says",
    "-",
    "The same promise, with noise and roll-back chosen by the strict count.",
    NOT_IN_PAPER,
    strict_promise,
    STRICT_RULE,
    on_every_dataset,
    rerun_cell("mnist", "sifu_strict"),
)
