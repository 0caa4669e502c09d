"""docs/replication/index.md: the result in a box, and a verdict a claim. To be read in two minutes."""

from __future__ import annotations

from sifu.docs.deviations import in_short
from sifu.docs.deviations_of_data import clipped_before
from sifu.docs.measured_text import dataset_names, number_text, table_text
from sifu.docs.picture import picture
from sifu.docs.released_code import released_in_short
from sifu.docs.replication_run import MeasuredRun, anchor
from sifu.docs.run_so_far import so_far
from sifu.docs.settings import NOTE
from sifu.docs.totals_in_words import listed
from sifu.replication.claims import bound, certificate, rounds, trade_off
from sifu.replication.claims.catalog import OPEN_QUESTIONS, PAPER
from sifu.replication.claims.claim import Claim
from sifu.replication.claims.counted import counted
from sifu.replication.claims.stored_tables import DATASETS
from sifu.replication.claims.verdict import Verdict
from sifu.replication.published import NOT_RUN, REPLICATION
from sifu.store.paths import PICTURE, figure_file, report_folder

_RULE = "claims.md#how-a-verdict-follows"
_VERDICTS = f"""\
Of an average its own verdict comes first. The third column names datasets that were not judged: `not run`, or `not
comparable`, as most seeds missed the target or nothing was measured. [claims.md](claims.md) has the paper's sentence,
numbers and command of each verdict, and [how it follows]({_RULE}).
"""
_WHERE = f"""\
- [claims.md](claims.md): every claim with its numbers and intervals
- [certificates, before and now](claims.md#certificates-counted-before-and-now): how each verdict moved
- [deviations.md](deviations.md): every difference, and what it changes
- [searches.md](searches.md): which settings were searched, and how
- [run.md](run.md): commits, devices, times, and what has not been run
- [report](../../{REPLICATION.as_posix()}/report): tables and figures; `make verify-paper` runs a few cells again
"""


def index_page(run: MeasuredRun) -> str:
    """The whole page."""
    parts = [
        NOTE.format(source=f"the tables of {REPLICATION} (sifu/replication/claims)"),
        "# Replication of the SIFU paper\n",
        *_picture(run),
        _box(run),
        "## The paper's claims\n",
        _VERDICTS,
        verdicts(run, PAPER, "claims.md"),
        "## What the paper leaves open\n",
        f"Of [{len(OPEN_QUESTIONS)} questions of ours](claims.md#what-the-paper-leaves-open), "
        f"{_counts(run, OPEN_QUESTIONS)}.\n",
        "## Read on\n",
        _WHERE,
    ]
    return "\n".join(parts)


def _picture(run: MeasuredRun) -> list[str]:
    """The opening picture, where it was drawn."""
    path = figure_file(report_folder(REPLICATION), PICTURE, "png")
    drawn = run.manifest is not None and (run.root / path).exists()
    return [f"{picture(run.root, '../../')}\n"] * drawn


def _box(run: MeasuredRun) -> str:
    """The result in at most eight lines."""
    if run.manifest is None:
        return f"> {NOT_RUN}\n"
    both = [rounds.saved_words(variant) for variant in ("sifu_released", "sifu")]
    saved, described = (_average(run, what) for what in both)
    missing = so_far(run.tables, run.titles, run.labels).missing_words()
    on = [_measured_on(run, what) for what in both]
    more = _average(run, rounds.extra_words("fed_eraser_released", "counted_rounds"))
    lines = [
        f"**Of the paper's {len(PAPER)} claims**, {_tally(run)}{missing}",
        in_short(run),
        f"SIFU, as released, saves {saved} of scratch's rounds (the paper: {rounds.SIFU_SAVES.number}; mean of "
        f"{on[0]}{_recovered(run, both[0])}). "
        f"SIFU as the text describes it saves {described}{'' if on[1] == on[0] else f' (mean of {on[1]})'}.",
        f"FedEraser, as released, takes {more} more rounds than scratch, as its code counts them "
        f"(the paper: {rounds.FED_ERASER_TAKES_MORE.number}).",
        f"SIFU has the best trade-off on {_held(run, trade_off.BEST_ON_FOUR)} (the paper: 4 of 5).",
        f"Psi with B = 1 bounds alpha on {_held(run, bound.ALPHA_BELOW_PSI)} (the paper: on all). Alpha is measured "
        "with refilled seats ([deviations](deviations.md), row on alpha and Psi).",
        "Counted strictly, for each client alone, SIFU's certificate holds on "
        f"{_held(run, certificate.SIFU_KEEPS_ITS_PROMISE)}. Strict SIFU takes {_beyond_scratch(run)}.",
        *filter(None, [f"{released_in_short(run)} {clipped_before(run)}".strip()]),
    ]
    return "\n".join(f"> - {line}" for line in lines) + "\n"


def _tally(run: MeasuredRun) -> str:
    """How many of the paper's claims hold, and how many meet the whole rule."""
    full = sum(run.judgement(claim).verdict is Verdict.HOLDS for claim in PAPER)
    return (
        f"{_counts(run, PAPER)}. The [full rule]({_RULE}) is met by {full}: no dataset of the claim is missing, and it "
        "still holds when adjusted for many claims."
    )


def _counts(run: MeasuredRun, claims: tuple[Claim, ...]) -> str:
    """How many claims hold on all, some or none of the datasets that were judged."""
    found = [counted(run.of(claim)) for claim in claims]
    judged = [one for one in found if one.judged]
    everywhere = sum(one.held == one.judged for one in judged)
    nowhere = sum(one.failed == one.judged for one in judged)
    without = f", and {len(found) - len(judged)} could not be judged" if len(judged) < len(found) else ""
    partly = len(judged) - everywhere - nowhere
    return (
        f"{everywhere or 'none'} {'hold' if everywhere > 1 else 'holds'} on every dataset that was judged, "
        f"{nowhere or 'none'} on no dataset; the other {partly} in part, or this is undecided{without}"
    )


def _measured_on(run: MeasuredRun, what: str) -> str:
    """The titles of the datasets that have a number in at least half of their seeds: those that an average is of."""
    found = run.averaged(what)
    lines = {name: found[name] for name in DATASETS if name in found}
    used = [name for name, line in lines.items() if line.value and 2 * line.value.seeds >= line.ran]
    return dataset_names(used, run.titles)


def _recovered(run: MeasuredRun, what: str) -> str:
    """Where a number leaves out seeds that did not get back to the target: in how many of them they did."""
    found = run.averaged(what)
    lines = [found[name] for name in DATASETS if name in found]
    counts = [(line.value.seeds, line.ran, run.titles[line.scenario]) for line in lines if line.value]
    words = [f"{seeds} of {ran} on {title}" for seeds, ran, title in counts if seeds < ran]
    return f"; of seeds that recover: {listed(words)}" if words else ""


def _average(run: MeasuredRun, what: str) -> str:
    """The mean alone: its intervals are in claims.md."""
    line = run.line("", what)
    return number_text(line.value.mean, line.unit) if line is not None and line.value is not None else "-"


def _beyond_scratch(run: MeasuredRun) -> str:
    """What strict SIFU is paid with, in words."""
    what = rounds.saved_words("sifu_strict", "client_steps")
    line = run.line("", what)
    if line is None or line.value is None:
        return "an unknown number of client steps"
    share = number_text(abs(line.value.mean), line.unit)
    more = "more" if line.value.mean < 0 else "fewer"
    on = _measured_on(run, what)
    return f"{share} {more} client steps than scratch (mean of {on}), those of spare clients in its training included"


def _held(run: MeasuredRun, claim: Claim) -> str:
    found = counted(run.of(claim))
    return f"{found.held} of {found.judged} datasets"


def verdicts(run: MeasuredRun, claims: tuple[Claim, ...], page: str = "") -> str:
    """A row a claim: on how many of the datasets that were judged it holds, and which are missing. `page`: of the
    claims, as seen from where the rows stand; empty: the same.
    """
    rows = []
    for claim in claims:
        found = counted(run.of(claim))
        link = f"[{claim.name}]({page}#{anchor(claim)})"
        rows.append([link, run.in_short(claim), found.not_judged(run.titles)])
    return table_text(rows, "claim", "what came out", "missing")
