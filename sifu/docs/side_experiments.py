"""The side experiments of a replication: on which datasets each was run, and where it is missing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.config.changed_scenario import Change
from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.search import setting_name
from sifu.config.side_experiments import SettingSweep
from sifu.docs.measured_text import table_text
from sifu.docs.setting_sweeps import swept_settings
from sifu.plan.load import read_yaml
from sifu.replication.claims.stored_tables import StoredTables

_AUDITS = "audits of certificates by counting models"
_ORACLES = "many models with the forgotten clients and with twins (twin test)"
_ATLAS = "each client left out in turn (atlas)"
Planned = dict[str, dict[str, bool]]  # side experiment -> scenario -> whether it was run


def side_experiments_table(
    config: Path, folder: Path, tables: StoredTables, titles: dict[str, str], labels: dict[str, str]
) -> str:
    """A row a side experiment; then the methods that are missing on a dataset that was run."""
    run = build(Run, read_yaml(config), "")
    sigmas = {f"sigma sweep of {labels.get(name, name)}": name for name in (s.variant for s in run.sigma_sweeps)}
    planned = _sigma_sweeps(run, folder, sigmas) | _setting_sweeps(run, folder, labels) | _sets(run, folder)
    planned |= _alphas(run, tables) | _searches(run, folder) | _many_models(run, folder)
    counts = {name: tables.sweep.loc[tables.sweep["variant"] == variant] for name, variant in sigmas.items()}
    settings = swept_settings(folder)
    for title, sweep in _titled(run, labels).items():
        counts[title] = settings[(settings["variant"] == sweep.variant) & (settings["setting"] == sweep.key)]
    for change in run.alpha_sweep.federations if run.alpha_sweep else ():
        counts[_with_change(change)] = tables.bounds[tables.bounds["change"] == change.name]
    rows = [
        [name, *_listed(scenarios, titles), _seeds(counts.get(name, _rows(name, tables)))]
        for name, scenarios in planned.items()
    ]
    table = table_text(rows, "side experiment", "run on", "missing", "seeds") if rows else ""
    absent = [f"{labels[variant]} on {titles[name]}" for name, variant in _missing_methods(run, tables)]
    lines = [f"\nMethods that are missing where others were run: {'; '.join(absent)}.\n"] if absent else []
    unverified = [titles[name] for name in _unmeasured(run, tables)]
    if unverified:
        lines.append(f"\nRun, but neither forgetting nor accuracy was measured: {'; '.join(unverified)}.\n")
    return table + "".join(lines)


def _sigma_sweeps(run: Run, folder: Path, sigmas: dict[str, str]) -> Planned:
    """Where each sweep of sigma was run; `sigmas`: its title -> its variant."""
    scenarios = {sweep.variant: sweep.scenarios for sweep in run.sigma_sweeps}
    return {
        title: {name: _has_table(folder / "sweep" / name / variant) for name in scenarios[variant]}
        for title, variant in sigmas.items()
    }


def _setting_sweeps(run: Run, folder: Path, labels: dict[str, str]) -> Planned:
    return {
        title: {name: _has_table(folder / "setting_sweep" / name / sweep.variant) for name in sweep.scenarios}
        for title, sweep in _titled(run, labels).items()
    }


def _titled(run: Run, labels: dict[str, str]) -> dict[str, SettingSweep]:
    return {f"{sweep.key} of {labels.get(sweep.variant, sweep.variant)}": sweep for sweep in run.setting_sweeps}


def _sets(run: Run, folder: Path) -> Planned:
    if not run.request_sets:
        return {}
    names = run.request_sets.scenarios
    return {"other sets of requests": {name: _has_table(folder / "request_sets" / name) for name in names}}


def _alphas(run: Run, tables: StoredTables) -> Planned:
    if not run.alpha_sweep:
        return {}
    measured = set(zip(tables.bounds["scenario"], tables.bounds["change"], strict=True))
    return {
        _with_change(change): {name: (name, change.name) in measured for name in run.alpha_sweep.scenarios}
        for change in run.alpha_sweep.federations
    }


def _with_change(change: Change) -> str:
    return f"alpha and Psi with {change.label}"


def _searches(run: Run, folder: Path) -> Planned:
    planned: Planned = {}
    for search in run.scenario_searches:
        place = folder / "scenario_search" / search.scenario / search.name
        planned.setdefault(f"search of {setting_name(search.grid)}", {})[search.scenario] = _has_table(place)
    return planned


def _many_models(run: Run, folder: Path) -> Planned:
    """Experiments that train many models of each world; of those that the plan leaves out, no scenario."""
    oracles = run.oracles.scenarios if run.oracles else ()
    mapped = tuple(name for atlas in run.atlases for name in atlas.scenarios)
    wanted = {_AUDITS: ("audit", tuple(run.audits_of)), _ORACLES: ("forgetting", oracles), _ATLAS: ("atlas", mapped)}
    return {
        title: {name: _has_table(folder / stage / name) for name in names} for title, (stage, names) in wanted.items()
    }


def _missing_methods(run: Run, tables: StoredTables) -> list[tuple[str, str]]:
    """Scenarios and variants that were planned and have no cells, of scenarios that have any."""
    only = {entry.scenario: entry.variants for entry in run.only}
    began = set(tables.cells["scenario"])
    scenarios = [name for name in run.scenarios if name in began]
    planned = [(name, variant) for name in scenarios for variant in only.get(name, run.variants)]
    return [(name, variant) for name, variant in planned if not tables.ran(name, variant)]


def _unmeasured(run: Run, tables: StoredTables) -> list[str]:
    """Scenarios whose requests were answered and whose models have no metrics."""
    measured = set(tables.metrics["scenario"])
    return [name for name in run.scenarios if name in set(tables.cells["scenario"]) - measured]


def _rows(experiment: str, tables: StoredTables) -> pd.DataFrame | None:
    """The rows of a kind of experiment, by the first word of its title; None where models are counted, not seeds."""
    kinds = {"sigma": tables.sweep, "other": tables.sets, "search": tables.scenario_trials}
    return kinds.get(experiment.split()[0])


def _seeds(rows: pd.DataFrame | None) -> str:
    """How many seeds, of the datasets that have the fewest and the most: `5 to 10`."""
    if rows is None or rows.empty:
        return "-" if rows is None else "0"
    counts = rows.groupby("scenario")["seed"].nunique()
    return f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"


def _has_table(folder: Path) -> bool:
    return any(folder.glob("**/*.parquet"))


def _listed(scenarios: dict[str, bool], titles: dict[str, str]) -> list[str]:
    """The scenarios that were run, then those that were not."""
    if not scenarios:
        return ["", "not planned"]
    between = "; " if any("," in titles[name] for name in scenarios) else ", "
    return [between.join(titles[name] for name, ran in scenarios.items() if ran is wanted) for wanted in (True, False)]
