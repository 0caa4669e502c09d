"""docs/replication/claims.md: each claim with its quote, its rule, its numbers and their intervals."""

from __future__ import annotations

from sifu.docs.measured_text import interval_text, p_text, seeds_text, table_text, verdict_text
from sifu.docs.replication_index import verdicts
from sifu.docs.replication_run import MeasuredRun, anchor
from sifu.docs.settings import NOTE
from sifu.docs.two_counts import two_counts
from sifu.docs.two_partitions import two_partitions
from sifu.replication.claims.catalog import CLAIMS, OPEN_QUESTIONS, PAPER
from sifu.replication.claims.claim import Claim, Line
from sifu.replication.claims.counted import counted
from sifu.replication.claims.stored_tables import DATASETS, EXAMPLE, SHOWN_ONLY
from sifu.replication.claims.verdict import LIMIT
from sifu.replication.published import REPLICATION
from sifu.report.statistics import WITH_STUDENT

_INTRODUCTION = f"""\
Numbers are means over seeds. Square brackets hold 95% intervals: the bootstrap's (percentiles) and, as these are too
narrow with few seeds, Student's after `t` for up to {WITH_STUDENT} seeds. Shares of seeds have exact intervals (Clopper
and Pearson). Round brackets hold the least and the largest seed, `(seeds 0.2 to 0.5)`: of shares within a seed, of
requests, clients or rounds that depend on each other, and of medians. Rounds are those of all requests of a seed, each
to the target accuracy, compared with scratch's in the same seed. `(7 of 10)`: only 7 of the 10 seeds that were run have
a value.

## How a verdict follows

What is bold in a verdict speaks of the datasets that could be judged or, of a claim about an average, of that; where
the full rule lowers it, a bracket says why. The full rule also asks for the datasets that are missing, and is adjusted
for many claims:
- On a dataset a claim **holds**, **does not hold** or, between the two, **holds in part**, by the rule of the claim
  (for short: a dataset holds).
- A dataset where a seed missed the target holds in part at best; where more than half did, it is **not testable**.
- It is **undecided** where the two intervals would give different verdicts.
- A claim about every dataset holds if all hold, does not hold if all that could be judged fail, else holds in part. It
  is undecided where that depends on datasets that are undecided.
- A claim about an average follows from its interval. It holds in part at best where a dataset or a seed is missing.
- Where a rule asks whether an interval lies beyond a threshold, it is a test. Its p-value is that of a one-sided t test
  over seeds; of a claim about every dataset, the largest of its datasets. All p-values of this page are adjusted
  together (Holm). A claim that is shown only without the adjustment is undecided: beyond {LIMIT:.3f}, a side of a 95%
  interval. A dash: judged by a rule that is no test, such as a share of seeds.
- MNIST by writer, a natural partition that everybody can download, is shown and never judged.

Rows name a variant by its label in `config/variants.yaml`. The paper's claims are judged by the variants
`..., as released`, which follow its code and made its figures. Requests and units are those of the figure in question
(but for the [deviations](deviations.md)). Claims of ours are judged by other variants: `SIFU` and `Last`, which follow
the paper's text (SIFU as described), `SIFU, strict`, and corrected methods, which follow their own papers: `FedEraser,
dt and r searched` and `FedAccum`. The command of a claim runs the cells of one seed again, one for each request, or a
stage (`SIFU_DATA_ROOT` names the folder of the datasets).
"""


def claims_page(run: MeasuredRun) -> str:
    """The whole page."""
    parts = [
        NOTE.format(source=f"the tables of {REPLICATION} (sifu/replication/claims)"),
        "# Claims\n",
        _INTRODUCTION,
        "## The paper's claims\n",
        *(_section(claim, run) for claim in PAPER),
        "## What the paper leaves open\n",
        verdicts(run, OPEN_QUESTIONS),
        *(_section(claim, run) for claim in OPEN_QUESTIONS),
        "## Certificates, counted before and now\n",
        two_counts(run),
        "## Two partitions of CIFAR-10\n",
        two_partitions(run),
    ]
    return "\n".join(parts)


def _section(claim: Claim, run: MeasuredRun) -> str:
    lines, judged, found = run.of(claim), run.judgement(claim), counted(run.of(claim))
    parts = [
        f"### {claim.name}\n",
        f"> {claim.quote} ({claim.place})\n",
        f"Verdict: {run.in_short(claim)}. Missing: {found.not_judged(run.titles)}. By the full rule: "
        f"{judged.verdict.value} (adjusted p: {p_text(judged.adjusted)}). {_rule(claim)}\n",
        _numbers(lines, run.titles),
        f"```sh\n{claim.command}\n```\n",
    ]
    return "\n".join(parts)


def _rule(claim: Claim) -> str:
    """The rule of a claim, once: later claims with the same one point to the first."""
    first = next(other for other in CLAIMS if other.rule == claim.rule)
    return claim.rule if first is claim else f"Rule: that of [{first.name}](#{anchor(first)})."


def _numbers(lines: list[Line], titles: dict[str, str]) -> str:
    """A row a number, a column a dataset; below a number that is judged, its verdicts. Then what was not run."""
    others = [line.scenario for line in lines]  # such as a scenario in the regime of a theorem
    names = [name for name in dict.fromkeys((*DATASETS, *SHOWN_ONLY, EXAMPLE, *others)) if name]
    columns = [
        name for name in (*names, "") if any(line.scenario == name and (line.value or line.ran) for line in lines)
    ]
    rows = []
    for what in dict.fromkeys(line.what for line in lines):
        by_scenario = {line.scenario: line for line in lines if line.what == what}
        if any(line.scenario in columns for line in by_scenario.values()):
            rows += _rows(what, [by_scenario.get(name) for name in columns])
    absent = [
        titles.get(name, name)
        for name in dict.fromkeys(line.scenario for line in lines if line.counts and line.scenario not in columns)
    ]
    note = f"Not run: {', '.join(absent)}.\n" if absent else ""
    if not columns:
        return note
    heads = [titles.get(name, name.replace("_", " ")) or "average" for name in columns]
    return table_text(rows, "number", "seeds", *heads) + (f"\n{note}" if note else "")


def _rows(what: str, lines: list[Line | None]) -> list[list[str]]:
    """The row of a number, and the row of its verdicts where it has any."""
    seeds = max((line.value.seeds for line in lines if line and line.value), default=0)
    rows = [[what, str(seeds), *(_cell(line, seeds) for line in lines)]]
    if any(line and line.verdict for line in lines):
        rows.append(["verdict", "", *(verdict_text(line) if line else "" for line in lines)])
    return rows


def _cell(line: Line | None, seeds: int) -> str:
    """`mean [low, high]`, with its seeds where they are fewer than the row's or than were run, and its note."""
    if line is None:
        return ""
    text = interval_text(line.value, line.unit)
    own = line.value.seeds if line.value is not None else 0
    if own < max(line.ran, seeds) and (line.ran or line.value is not None):
        text += f" ({seeds_text(line)})"
    return f"{text}, {line.note}" if line.note else text
