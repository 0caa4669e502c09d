"""docs/replication/searches.md: settings, every value that was tried for them, and under which budget."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sifu.docs.replication_run import MeasuredRun
from sifu.docs.settings import NOTE
from sifu.replication.claims.stored_tables import REFERENCE
from sifu.replication.published import NOT_RUN, REPLICATION
from sifu.report.scenario_searches import WHEN_SEARCHED, not_chosen, scenario_searches
from sifu.report.searches import searches
from sifu.report.tables import hyper_parameters, markdown
from sifu.report.trained_settings import as_trained, settings_of_training

_CLIP = {"mnist": 0.5, "fashionmnist": 0.5, "cifar10": 0.2, "cifar100": 0.2, "celeba": 0.5}  # C of the paper's Table 2
_ERASER = "2, 0.5"  # dt and r of FedEraser's own paper
_METHODS = """\
These settings of methods were searched on seeds that are not reported: C of DP-FedAvg, for which the SIFU paper has a
value for each dataset; the rounds T (`rounds`) that the noise of DP-FedAvg, accounted, pays for, half of them for the
training; FedEraser's dt and r (`every`, `calibration`), for which its text has none; settings of the field's methods.
- Budget of each value: {budgets}.
  A value is trained, or recovers, in these rounds. FedEraser's calibration comes before; the smaller dt, the longer.
- Choice: no seed diverges; then most seeds reach the target; then the value forgets (`remembers` is at most 0.05: so
  much more accurate than a retraining on the data of forgotten clients; if no value does, the nearest); then the fewest
  client steps, calibration included: the unit that methods are judged by, too. Where no value reaches the target, the
  most accurate one. The column `chosen` says what decided: `by forgetting` where a cheaper value remembers, and `at the
  edge` where a setting has the smallest or largest of three or more values, so that others might be better. Where
  `remembers` is empty, it was not measured.
- Scenarios with marks take the values of their dataset.
- `published`: C of the SIFU paper, dt and r of FedEraser's own paper, which the SIFU paper's code has, too.
"""
_SCENARIOS = f"""\
Clipping, which the paper's text leaves open, was searched in the same way. The cost is the client steps of a training
and of SIFU's answer to the first request, so that a search favours SIFU if anybody.
- Budget of each value: {{budgets}}.
- `used` is the scenario's own value today (`{WHEN_SEARCHED}`: it was when the search was made, and is no longer),
  `chosen` the one that the search would choose.{{otherwise}}
"""


def searches_page(run: MeasuredRun) -> str:
    """The whole page."""
    trials = run.tables.scenario_trials
    parts = [
        NOTE.format(source=f"the tables of {REPLICATION}"),
        "# Settings and searches\n",
        "## Settings of scenarios\n",
        _settings(run),
        "## Searches of methods' settings\n",
        _METHODS.format(budgets=_method_budgets(run.plan, run.labels)),
        *_tried(run.tables.trials, run),
        "## Searches of scenarios' settings\n",
        _SCENARIOS.format(budgets=_scenario_budgets(run.plan, run.titles), otherwise=_otherwise(trials, run)),
        _tried_of_scenarios(trials, run),
    ]
    return "\n".join(parts)


def _settings(run: MeasuredRun) -> str:
    """The settings of every scenario that was run, as it was trained."""
    manifest = run.manifest
    if manifest is None:
        return f"{NOT_RUN}\n"
    stored = manifest.get("scenarios", {})
    ran = {name: stored[name] for name in run.titles if name in stored and run.tables.ran(name, REFERENCE)}
    complete = {
        name: as_trained(plain, settings_of_training(manifest, name))
        for name, plain in ran.items()
        if "federation" in plain
    }
    return markdown(hyper_parameters(run.titles, complete), "").lstrip()


def _method_budgets(plan: dict[str, Any], labels: dict[str, str]) -> str:
    searched = {labels[name]: variant["search"] for name, variant in plan["variants"].items() if variant.get("search")}
    return _grouped({label: _budget(search) for label, search in searched.items()})


def _scenario_budgets(plan: dict[str, Any], titles: dict[str, str]) -> str:
    planned = plan["side_experiments"]["scenario_searches"]
    return _grouped({f"{titles[entry['scenario']]}'s {', '.join(entry['grid'])}": _budget(entry) for entry in planned})


def _grouped(budgets: dict[str, str]) -> str:
    """Each budget with what has it; the budget alone where all have the same."""
    named: dict[str, list[str]] = {}
    for name, budget in budgets.items():
        named.setdefault(budget, []).append(name)
    return "; ".join(budget if len(named) == 1 else f"{budget}: {', '.join(names)}" for budget, names in named.items())


def _budget(search: dict[str, Any]) -> str:
    values = 1
    for tried in search["grid"].values():
        values *= len(tried)
    usual = "twice the rounds of the longest training; a new search of own trainings has the scenario's maximum"
    limit = usual if search["rounds"] is None else f"{search['rounds']} rounds"
    return f"{values} values, {search['num_seeds']} seeds, {limit}"


def _otherwise(trials: pd.DataFrame, run: MeasuredRun) -> str:
    """The searches that would have chosen another value than the one that is used."""
    others = [
        f"{run.titles.get(str(name), name)}: {sentence}"
        for name, part in trials.groupby("scenario")
        for sentence in not_chosen(part, run.plan["scenarios"])
    ]
    searched = len(trials[["scenario", "setting"]].drop_duplicates())
    return f" They differ in {len(others)} of {searched}: {'; '.join(others)}." if others else ""


def _tried_of_scenarios(trials: pd.DataFrame, run: MeasuredRun) -> str:
    if not len(trials):
        return "Not run.\n"
    return markdown(_titled(scenario_searches(trials, run.plan["scenarios"]), run), "").lstrip()


def _titled(table: pd.DataFrame, run: MeasuredRun) -> pd.DataFrame:
    """A table with the labels of scenarios in place of their names."""
    return table.assign(scenario=[run.titles.get(str(name), name) for name in table["scenario"]])


def _tried(trials: pd.DataFrame, run: MeasuredRun) -> list[str]:
    """The chosen values; then, folded, every value that was tried, and whether it is the published one."""
    if not len(trials):
        return ["Not run.\n"]
    table = _titled(searches(trials, run.labels), run)
    names = trials.drop_duplicates(["scenario", "variant", "place"]).sort_values(["scenario", "variant", "place"])
    rows = zip(names["scenario"], names["variant"], names["setting"], names["value"], strict=True)
    table = table.assign(published=["yes" if _published(*row) else "" for row in rows])
    chosen, every = (markdown(part, "").lstrip() for part in (table[table["chosen"] != ""], table))
    return [chosen, f"<details><summary>All {len(table)} values</summary>\n", every, "</details>\n"]


def _published(scenario: str, variant: str, setting: str, value: str) -> bool:
    if setting == "clip":
        return variant == "dp_released" and float(value) == _CLIP.get(scenario)
    return value == _ERASER
