"""What FATS costs against rho, in its own unit: the R rounds of its training."""

from __future__ import annotations

from math import comb
from typing import Any

import pandas as pd

from sifu.methods.fats import Fats
from sifu.report.share import share
from sifu.report.statistics import FINISHED, bootstrap_intervals, student_interval, to_target

CAPTION = (
    "What FATS costs against rho, in its own unit: the R rounds that its training takes, with m of M clients each. "
    "`cost nothing`: answers without any round, as their clients were never drawn, of all seeds and requests; of the "
    "first requests, one a seed, with the exact 95% interval, as later answers of a seed are not independent. "
    "`expected` next to it is (1 - m / M)^R for one client. `rounds / R`: mean over all answers, with the 95% "
    "bootstrap interval over seeds, for up to 10 seeds also Student's after `t`; `expected` next to it is 1 - (1 - q) "
    "(1 - (1 - q)^R) / (q R) with q = m / M, the chance that a round has the client. Where several clients leave at "
    "once, q is the chance that a round has any of them. `target met`: seeds in which every answer is as accurate as "
    "the scenario asks, with the exact 95% interval, then such answers of all seeds and requests. R is fixed before "
    "the training, so that a model is given out met or not: rounds are then those that were taken, not a bound of "
    "what the target takes, and accuracies are those of that model. Accuracies and `cost / scratch` are means over "
    "requests and seeds. `cost / scratch` is the unit of all other tables: scratch of the scenario's own federation, "
    "whose rounds have another number of clients; a dash where an answer, or scratch, missed the target."
)
COLUMNS = (
    *("scenario", "method", "rho", "m", "M", "R", "cost nothing", "expected", "rounds / R", "expected rounds / R"),
    *("target met", "retain accuracy", "test accuracy", "cost / scratch"),
)
OwnSettings = dict[tuple[str, str], dict[str, Any]]  # scenario and variant -> what its cells were made with


def fats_table(
    cells: pd.DataFrame, statistics: pd.DataFrame, settings: OwnSettings, labels: dict[str, str]
) -> pd.DataFrame:
    """A row a scenario and rho. `settings`: those of the variants that are FATS."""
    answers, numbers, rows = cells[cells["stop"] == "target"], to_target(statistics), []
    in_order = sorted(settings.items(), key=lambda item: (item[0][0], item[1]["method"]["rho"]))
    for (scenario, variant), plain in in_order:
        own = answers[(answers["scenario"] == scenario) & (answers["variant"] == variant)]
        if own["status"].isin(FINISHED).any():
            found = numbers[(numbers["scenario"] == scenario) & (numbers["variant"] == variant)]
            names = {"scenario": scenario, "method": labels.get(variant, variant)}
            rows.append(names | _row(own, found, plain))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(answers: pd.DataFrame, statistics: pd.DataFrame, plain: dict[str, Any]) -> dict[str, Any]:
    cells = answers[answers["status"].isin(FINISHED)]
    method = Fats(rho=plain["method"]["rho"], rounds=plain["method"]["rounds"])
    clients, rounds = plain["partition"]["num_clients"], method.rounds
    drawn, free = method.cohort(clients), int((cells["rounds"] == 0).sum())
    chances = [expected(clients, drawn, rounds, size) for size in _sizes(cells)]
    nothing, taken = (sum(values) / len(chances) for values in zip(*chances, strict=True))
    return {
        "rho": f"{method.rho:g}",
        "m": f"{drawn}",
        "M": f"{clients:,}",
        "R": f"{rounds}",
        "cost nothing": f"{free} of {len(cells)}; {_first_free(cells)}",
        "expected": f"{nothing:.1%}",
        "rounds / R": _rounds(cells, rounds),
        "expected rounds / R": f"{taken:.3f}",
        "target met": _met(answers),
        "retain accuracy": _mean(statistics, "accuracy", "retain"),
        "test accuracy": _mean(statistics, "accuracy", "test"),
        "cost / scratch": _cost(statistics),
    }


def _first_free(cells: pd.DataFrame) -> str:
    """`first requests 8 of 10 [44%, 97%]`: those that cost nothing."""
    first = cells[cells["request"] == cells["request"].min()]
    return f"first requests {share(int((first['rounds'] == 0).sum()), len(first))}"


def _met(answers: pd.DataFrame) -> str:
    """`0 of 10 [0%, 31%]; 3 of 30 answers`: seeds that met the target in all of their answers."""
    met = answers["status"] == "done"
    seeds = met.groupby(answers["seed"]).all()
    return f"{share(int(seeds.sum()), len(seeds))}; {met.sum()} of {len(answers)} answers"


def expected(clients: int, drawn: int, rounds: int, size: int = 1) -> tuple[float, float]:
    """The chance that a request of `size` clients costs nothing, and its rounds on average, as a share of R."""
    without = comb(clients - size, drawn) / comb(clients, drawn)  # a round has none of them: 1 - q
    free = without**rounds
    return free, 1 - without * (1 - free) / ((1 - without) * rounds)


def _sizes(cells: pd.DataFrame) -> list[int]:
    """How many clients each answer's request has; `group` counts those of earlier ones as well."""
    group = cells.sort_values("request").groupby("seed")["group"]
    return [int(size) for size in group.diff().fillna(cells["group"])]


def _rounds(cells: pd.DataFrame, rounds: int) -> str:
    """`0.371 [0.258, 0.480; t 0.236, 0.506]`: each seed counts once, with the mean of its requests."""
    values = (cells.groupby("seed")["rounds"].mean() / rounds).to_numpy(float)
    ((low, high),) = bootstrap_intervals([values])
    few = student_interval(values) if len(values) > 1 else None
    more = f"; t {few[0]:.3f}, {few[1]:.3f}" if few else ""
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}{more}]"


def _cost(statistics: pd.DataFrame) -> str:
    """The mean over requests; a dash where some request has no ratio, as the others may be the cheaper ones."""
    has_ratio = statistics[statistics["quantity"] == "steps_to_scratch"]["request"]
    return _mean(statistics, "steps_to_scratch", "") if set(has_ratio) == set(statistics["request"]) else "-"


def _mean(statistics: pd.DataFrame, quantity: str, subset: str) -> str:
    """The mean over requests of a mean over seeds; a dash where it was not measured."""
    rows = statistics[(statistics["quantity"] == quantity) & (statistics["subset"] == subset)]
    return f"{rows['mean'].mean():.3f}" if len(rows) else "-"
