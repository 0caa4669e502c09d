"""The paper's own code, run on the same images, next to the rows as released: training and first request."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from sifu.docs.measured_text import dataset_names, table_text
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.claims.stored_tables import DATASETS, StoredTables

TITLE = "The released code on the same images"
RUNS = "docs/replication/released_code.csv"  # scenario, seed, quantity, value: one row a number that its log printed
_INTRODUCTION = """\
The repository of the paper (Accenture/Labs-Federated-Learning, branch SIFU) was run on a CPU with the flags of its
`SIFU_example.sh` (gradients clipped at 10,000 among them), and the paper's Table 2 for the other datasets. Each run
has its own initial model, cohorts, batches and noise; who holds which images is the same, draw for draw. Changed were
only its paths, what newer versions of torch and torchvision ask for, that the sampling of clients has a seed, and the
speed of reading and copying; on CIFAR-100 and CelebA also that of evaluations and convolutions (gradients are within
3e-6 of torch's). Numbers are those of the training and of the first request (clients 0, 10, ..., 90), accuracies
those on the training data; here the mean over all seeds, with the least and the largest. SIFU's recovery is counted
to the first evaluation that meets the target: with the script's `--compute_diff True` the code goes on to the next
multiple of 100 rounds that meets it.
"""
_ONE_RUN = """\
A run is one draw. SIFU goes back to before the first of ten clients crosses Psi*, and who that is depends on the
cohorts: the earliest and the latest such round of the ten groups of a training say by how much. An early one leaves
SIFU more rounds to make up for. Near the target the accuracy on single classes swings by a tenth from one round to the
next, with the classes of the cohort: one run's accuracy on forgotten clients says little.
"""


class Quantity(NamedTuple):
    """A number of the released code, and the same by seed here, of the first request."""

    words: str
    here: Callable[[StoredTables, str], pd.Series] | None  # None: is not kept here
    digits: int = 0


def _rounds(variant: str) -> Quantity:
    names = {"scratch": "rounds of scratch", "fine_tuning": "rounds of fine-tuning", "sifu_released": "rounds of SIFU"}
    return Quantity(names[variant], lambda tables, scenario: tables.totals(scenario, variant))


def _accuracy(variant: str, words: str) -> Quantity:
    def here(tables: StoredTables, scenario: str) -> pd.Series:
        recovered = tables.totals(scenario, variant).index
        values = tables.values(scenario, variant, "accuracy", "forgotten")
        return values[values.index.isin(recovered)]

    return Quantity(f"accuracy of {words} on forgotten clients", here, digits=3)


QUANTITIES = {
    # fine-tuning starts from the training's last round
    "training": Quantity("rounds of training", lambda tables, name: tables.went_back_to(name, "fine_tuning")),
    "scratch": _rounds("scratch"),
    "fine_tuning": _rounds("fine_tuning"),
    "cut": Quantity("round that SIFU goes back to", lambda tables, name: tables.went_back_to(name, "sifu_released")),
    "cut_earliest": Quantity("the same for another group, earliest", None),
    "cut_latest": Quantity("the same for another group, latest", None),
    "sifu_released": _rounds("sifu_released"),
    "scratch_forgotten": _accuracy("scratch", "scratch"),
    "fine_tuning_forgotten": _accuracy("fine_tuning", "fine-tuning"),
    "sifu_released_forgotten": _accuracy("sifu_released", "SIFU"),
}


def released_code(run: MeasuredRun) -> str:
    """The section of the page; empty where nothing was run."""
    found = _compared(run)
    if not found:
        return ""
    rows = [
        [run.titles[scenario], quantity.words, *_cells(theirs, ours, quantity.digits)]
        for scenario, quantity, theirs, ours in found
    ]
    table = table_text(rows, "dataset", "number", "released code", "here")
    return "\n".join([f"## {TITLE}\n", _INTRODUCTION, table, _ONE_RUN])


def released_in_short(run: MeasuredRun) -> str:
    """How many of its numbers lie between the least and the largest of our seeds; nothing where it was not run. One
    that no seed of ours has, as none recovers, lies outside.
    """
    found = [(scenario, theirs, ours) for scenario, _, theirs, ours in _compared(run) if ours is not None]
    found = [one for one in found if run.tables.ran(one[0], "scratch")]
    if not found:
        return ""
    inside = sum(int(theirs.between(ours.min(), ours.max()).sum()) for _, theirs, ours in found)
    every = sum(len(theirs) for _, theirs, _ in found)
    titles = dataset_names(list(dict.fromkeys(scenario for scenario, *_ in found)), run.titles)
    return (
        f"The paper's released code, [run on the same images](deviations.md#{TITLE.lower().replace(' ', '-')}) "
        f"({titles}): {'all' if inside == every else f'{inside} of its'} {every} numbers lie within the range of our "
        "seeds."
    )


def _compared(run: MeasuredRun) -> list[tuple[str, Quantity, pd.Series, pd.Series | None]]:
    """Each scenario's quantities with the numbers of the released code and ours, in the order of the page."""
    path = run.root / RUNS
    if not path.exists():
        return []
    stored, tables = pd.read_csv(path), run.tables.first_request
    return [
        (scenario, quantity, theirs, quantity.here(tables, scenario) if quantity.here else None)
        for scenario in DATASETS
        for name, quantity in QUANTITIES.items()
        if len(theirs := stored[(stored["scenario"] == scenario) & (stored["quantity"] == name)]["value"])
    ]


def _cells(theirs: pd.Series, ours: pd.Series | None, digits: int) -> tuple[str, str]:
    """The released code's runs, a number each; here the mean, and between which values."""

    def text(value: float) -> str:
        return f"{value:,.{digits}f}"

    runs = ", ".join(map(text, theirs))
    if ours is None or not len(ours):
        return runs, "-" if ours is None else "no seed: not run, or none recovers"
    return runs, f"{text(ours.mean())} ({text(ours.min())} to {text(ours.max())}, {len(ours)} seeds)"
