"""The leaderboard of the report: a tab a scenario, a row a method, the command behind each row on a click."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from sifu.errors import ConfigError
from sifu.plan.method_check import method_class
from sifu.plan.report_plan import ReportPlan
from sifu.report.board_tabs import in_groups, tab_list
from sifu.report.grades import BY_ACCURACY, TWINS, Grade
from sifu.report.html import folded
from sifu.report.looked_good import cheapest, contenders, is_tie
from sifu.report.marked import marked
from sifu.report.standings import EXACT, KEPT, TRAIN_AGAIN, Standing
from sifu.report.statistics import REFERENCE
from sifu.report.verdicts import REFUTED, Verdicts, verdicts
from sifu.store.paths import stage_folder

RowCommand = Callable[[str, str], str]  # of a scenario and a variant: what runs them again
AGAIN = "results/again"  # where a row is run again
NOTE = (
    "One row a method, over all requests and seeds. Click a title to sort, a method for the command that repeats one "
    "cell of its row, which is one seed (`SIFU_DATA_ROOT` names the folder of datasets that come with no package). "
    "Forgetting: by the twin test of many models where it was made (*), else by accuracy on the forgotten clients "
    "minus scratch's, which is weak."
)
MORE = (
    "Cost: client steps of all requests, relative to training again from scratch. Why accuracy is weak: where a "
    "request takes all clients of a class, scratch has 0 on it, and so has a model that no longer names the class, "
    "whatever else it remembers. Bold: the cheapest method that forgot (by the twin test, where one was made of the "
    "same kind of training: data, model, optimiser, epsilon) and the best accuracy of those that forgot, unless all "
    "are the same; the certificates that are kept. Trainings again from scratch, with which others are compared, are "
    "not in the race for cost and accuracy. Test data hold the classes that were forgotten: who remembers them is "
    "right more often. Certificate kept: for all clients of a request together; exact: the same with epsilon 0; one "
    "client: for each of them alone; broken: not even that; not counted: this run did not check it here."
)
TIE = (
    "All methods take as many client steps here: each stops at the minimum of rounds, where it meets the target "
    "already. So the cost says nothing of a method. What each reaches with a budget of steps: table `budgets`."
)
_SUBSETS = {"test": "accuracy, test data", "retain": "accuracy, remaining clients"}
_PLAINLY = {
    "a scalar a client": "one number per client",
    "a model a client": "one model per client",
    "a round in dt": "of one round in dt",
}


def leaderboard(plan: ReportPlan, rows: list[Standing], again: RowCommand) -> str:
    """Tabs and tables; the first tab is open."""
    if not rows:
        return "<p>Nothing has been unlearned yet.</p>"
    first, others = in_groups(plan, rows)
    told = verdicts(plan, rows)
    note, more = (f'<p class="note">{marked(text)}</p>' for text in (NOTE, MORE))
    parts = [note, folded("How to read it", more), tab_list(plan, first, others)]
    for place, name in enumerate([*first, *others]):
        own = [row for row in rows if row.scenario == name]
        hidden = " hidden" if place else ""
        panel = f'<div role="tabpanel" id="board-{place}" aria-labelledby="tab-{place}"{hidden}>'
        tie = f'<p class="note">{marked(TIE)}</p>' if is_tie(own) else ""
        parts.append(f"{panel}{tie}{_table(plan, own, told, rows, again)}</div>")
    return "".join(parts)


def _table(plan: ReportPlan, rows: list[Standing], told: Verdicts, every: list[Standing], again: RowCommand) -> str:
    """The rows of a scenario; `told`: how all rows are shown, `every`: those of any scenario."""
    subset = next((row.subset for row in rows if row.subset), "retain")
    titles = ["method", "cost", "forgetting", _SUBSETS[subset], "certificate claimed", "certificate kept?", "needs"]
    head = "".join(f'<th scope="col">{escape(title)}' for title in titles)
    racing = [row for row in rows if plan.methods[row.variant] not in TRAIN_AGAIN]
    cheap, best = cheapest(plan, every, racing), _most_accurate(contenders(plan, every, racing))
    body = "".join(_row(plan, row, told, again, cheapest=row is cheap, best=row is best) for row in rows)
    return f'<div class="scroll"><table class="sortable board"><thead><tr>{head}<tbody>{body}</table></div>'


def _most_accurate(forgot: list[Standing]) -> Standing | None:
    """The most accurate row of those that `forgot` in all seeds; none where nobody did."""
    accurate = [row for row in forgot if row.utility == row.utility]  # not nan
    return max(accurate, key=lambda row: row.utility, default=None)


def _row(plan: ReportPlan, row: Standing, told: Verdicts, again: RowCommand, *, cheapest: bool, best: bool) -> str:
    label = escape(plan.labels[row.variant])
    command = escape(again(row.scenario, row.variant))
    cells = [
        f'<td data-sort="{label}"><details class="again"><summary>{label}</summary><code>{command}</code></details>',
        _cost(row, bold=cheapest),
        _forgetting(row, *told[row.scenario, row.variant]),
        _utility(row, bold=best),
        *_certificate(row),
        f'<td class="needs">{marked(needs(plan.methods[row.variant]))}',
    ]
    return f"<tr>{''.join(cells)}"


def _cost(row: Standing, *, bold: bool) -> str:
    if not row.has_cost:
        return f'<td data-sort="inf" class="soft">{escape(row.words)}'
    text = f"<b>{row.cost:.0%}</b>" if bold else f"{row.cost:.0%}"
    seeds = "" if row.compared == row.seeds else f" <small>{row.compared} of {row.seeds} seeds</small>"
    bar = f'<span class="bar" style="--part:{min(row.cost, 2) / 2:.3f}"></span>'
    return f'<td data-sort="{row.cost:.4f}">{bar}{text}{seeds}'


def _forgetting(row: Standing, grade: Grade, sign: str) -> str:
    kind = "by-accuracy" if grade is BY_ACCURACY else grade.words.replace(" ", "-")
    star = "*" if row.by == TWINS else ""
    gap = "" if row.gap != row.gap else f" <small>{row.gap:+.3f}</small>"
    words = f"{REFUTED[0]} fails the twin test" if sign == REFUTED else f"{sign} {grade.words}{star}"
    return f'<td class="{kind}" data-sort="{grade.words} {row.gap:+.4f}">{escape(words)}{gap}'


def _utility(row: Standing, *, bold: bool) -> str:
    if row.utility != row.utility:
        return '<td data-sort="" class="soft">-'
    text = f"<b>{row.utility:.3f}</b>" if bold else f"{row.utility:.3f}"
    gap = (
        ""
        if row.variant == REFERENCE or row.utility_gap != row.utility_gap
        else f" <small>{row.utility_gap:+.3f}</small>"
    )
    return f'<td data-sort="{row.utility:.5f}">{text}{gap}'


def _certificate(row: Standing) -> tuple[str, str]:
    """What is promised, and whether it is kept."""
    promise = row.certificate
    if promise is None:
        return '<td data-sort="" class="soft">none', '<td data-sort="" class="soft">-'
    claim = f"epsilon {promise.epsilon:g}, delta {promise.delta:g}" if promise.epsilon else "exact"
    kind = promise.worth.replace(" ", "-")
    worth = f"<b>{promise.worth}</b>" if promise.worth in (EXACT, KEPT) else promise.worth
    return f'<td data-sort="{promise.epsilon:g}">{claim}', f'<td><span class="badge {kind}">{worth}</span>'


def needs(method: str) -> str:
    """What a method needs beyond FedAvg, in a few words."""
    try:
        found = method_class(method)
    except (ConfigError, KeyError):  # a method of a package that is not installed here
        return "-"
    assumed, trains = found.assumptions, hasattr(found, "training")
    words = [
        *(["its own training" if trains else "more than FedAvg as it is"] if not assumed.fedavg else []),
        *(["data at the server"] if assumed.server_data else []),
        *(["forgotten clients' data"] if assumed.forgotten_data else []),
        *([f"server stores: {_plainly(assumed.stores)}"] if assumed.stores != "nothing" else []),
    ]
    return "; ".join(words) or "nothing"


def _plainly(stores: str) -> str:
    """What a server stores, in words that are read once."""
    for terse, plain in _PLAINLY.items():
        stores = stores.replace(terse, plain)
    return stores


def with_targets(command: str, targets: Iterable[str]) -> str:
    """A command of Snakemake that makes some files; its config comes last, as it takes all that follows."""
    start, option, config = command.partition(" --configfile ")
    return f"{start} {' '.join(targets)}{option}{config}"


def row_command(plan: ReportPlan, command: str) -> RowCommand:
    """What runs a row again, into a folder of its own, and compares a cell of it."""

    def again(scenario: str, variant: str) -> str:
        if not command.startswith("snakemake "):
            return command
        blocks = plan.blocks[scenario]
        files = [str(stage_folder(AGAIN, "unlearn", scenario, block, variant) / "cells.parquet") for block in blocks]
        run = f".venv/bin/{with_targets(command, files)} --config results={AGAIN}"
        seed = int(blocks[0].removeprefix("s").partition("-")[0]) if blocks else 0
        cell = f"--scenario {scenario} --variant {variant} --seed {seed} --results {AGAIN} --against {plan.results}"
        return f"{run}\n.venv/bin/python -m sifu cell {cell}"

    return again
