"""Every difference between this replication and the paper, or the paper's code, and what it changes. Data first."""

from __future__ import annotations

from sifu.docs.deviations_of_data import DATA
from sifu.docs.deviations_of_methods import METHODS
from sifu.docs.deviations_of_rules import RULES
from sifu.docs.measured_text import table_text
from sifu.docs.released_code import released_code
from sifu.docs.replication_run import MeasuredRun
from sifu.docs.settings import NOTE
from sifu.docs.totals_in_words import listed
from sifu.replication.published import REPLICATION

DEVIATIONS = (*DATA, *METHODS, *RULES)


_INTRODUCTION = """\
Where the paper's text leaves something open, or its code does something else, the code decides, as it made the figures.
What is ours has a name of its own: scenarios such as `cifar10_disjoint`, corrected methods.
"""


def deviations_page(run: MeasuredRun) -> str:
    """docs/replication/deviations.md: the whole page."""
    note = NOTE.format(source=f"the tables of {REPLICATION} (sifu/docs/deviations.py)")
    return "\n".join([note, "# Deviations from the paper\n", _INTRODUCTION, deviations_table(run), released_code(run)])


def deviations_table(run: MeasuredRun) -> str:
    """One row a deviation."""
    rows = [[str(number), *deviation.row(run)] for number, deviation in enumerate(DEVIATIONS, 1)]
    return table_text(rows, "#", "subject", "the paper", "here", "what it changes")


def in_short(run: MeasuredRun) -> str:
    """How many there are, and of which datasets a part was used."""
    some = sorted(data.label for data in run.data.values() if data.is_part)
    parts = f"Only a part of {listed(some)} was used." if some else "How much of each dataset was used is in its rows."
    return f"**{len(DEVIATIONS)} [deviations](deviations.md) from the paper remain, data first.** {parts}"
