"""The searches of docs/reproduction.md: every value that was tried, under which budget, and what was chosen."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sifu.replication.claims.tables import Tables
from sifu.report.tables import markdown, not_chosen, scenario_searches, searches

_CLIP = {"mnist": 0.5, "fashionmnist": 0.5, "cifar10": 0.2, "cifar100": 0.2, "celeba": 0.5}  # C of the paper's Table 2
_ERASER = "2, 0.5"  # dt and r of FedEraser's own paper
_NOT = "Not run.\n"


def searches_section(tables: Tables, titles: dict[str, str], labels: dict[str, str], plan: dict[str, Any]) -> str:
    """Settings of methods, then of scenarios."""
    tried = scenario_searches(tables.scenario_trials)
    return "\n".join(
        [
            _METHODS.format(budgets=_budgets(plan, labels)),
            _tried(tables.trials, labels),
            _SCENARIOS.format(budgets=_scenario_budgets(plan, titles)) + _otherwise(tables.scenario_trials, titles),
            markdown(tried, "").lstrip() if len(tried) else _NOT,
        ]
    )


_METHODS = """\
Settings of methods, on seeds that are not reported: C of DP-FedAvg, of which the SIFU paper has a value for each
dataset, and FedEraser's dt and r (`every` and `calibration`), of which it has none. Each value has the same budget of
seeds and of rounds to recover in ({budgets}); FedEraser's calibration comes before, and is longer the smaller dt is.
Of the values with which no seed diverges, the one that reaches the target on most seeds, then in the fewest client
steps, is used, and where none reaches it the most accurate one; what was forgotten does not count. Scenarios with
marks take the values of their dataset. `published`: C of the SIFU paper's DP-FedAvg, dt and r of FedEraser's own
paper.
"""
_SCENARIOS = """\
Settings of scenarios that the paper leaves open (clipping, nets) in the same way: a training and SIFU's answer to the
first request, whose client steps together are the cost, so that a search favours SIFU where it favours anybody
({budgets}). A scenario's own value is what is `used`; the search says which would be `chosen`."""


def _budgets(plan: dict[str, Any], labels: dict[str, str]) -> str:
    searched = {labels[name]: variant["search"] for name, variant in plan["variants"].items() if variant.get("search")}
    return _grouped({label: _budget(search) for label, search in searched.items()})


def _scenario_budgets(plan: dict[str, Any], titles: dict[str, str]) -> str:
    found = plan["beside"]["scenario_searches"]
    return _grouped({f"{titles[entry['scenario']]}'s {', '.join(entry['grid'])}": _budget(entry) for entry in found})


def _grouped(budgets: dict[str, str]) -> str:
    """What has which budget; the budget alone where all have the same."""
    found: dict[str, list[str]] = {}
    for name, budget in budgets.items():
        found.setdefault(budget, []).append(name)
    return "; ".join(budget if len(found) == 1 else f"{budget}: {', '.join(names)}" for budget, names in found.items())


def _budget(search: dict[str, Any]) -> str:
    values = 1
    for tried in search["grid"].values():
        values *= len(tried)
    return f"{values} values, {search['num_seeds']} seeds, {search['rounds']} rounds"


def _otherwise(trials: pd.DataFrame, titles: dict[str, str]) -> str:
    """Where a search would have chosen another value than the one that is used."""
    others = [
        f"{titles.get(str(name), name)}: {words}"
        for name, part in trials.groupby("scenario")
        for words in not_chosen(part)
    ]
    searched = len(trials[["scenario", "setting"]].drop_duplicates())
    return f" They differ in {len(others)} of {searched}: {'; '.join(others)}.\n" if others else "\n"


def _tried(trials: pd.DataFrame, labels: dict[str, str]) -> str:
    """Every value that was tried, and the published one where there is one."""
    if not len(trials):
        return _NOT
    table = searches(trials, labels)
    names = trials.drop_duplicates(["scenario", "variant", "place"]).sort_values(["scenario", "variant", "place"])
    rows = zip(names["scenario"], names["variant"], names["setting"], names["value"], strict=True)
    return markdown(table.assign(published=["yes" if _published(*row) else "" for row in rows]), "").lstrip()


def _published(scenario: str, variant: str, setting: str, value: str) -> bool:
    if setting == "clip":
        return variant == "dp_released" and float(value) == _CLIP.get(scenario)
    return value == _ERASER
