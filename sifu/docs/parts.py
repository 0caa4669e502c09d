"""What of a replication was run, beside its main table, and what is still missing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.search import setting_name
from sifu.plan.load import read_yaml
from sifu.replication.claims.tables import REFERENCE, Tables
from sifu.report.tables import markdown

Planned = dict[str, dict[str, bool]]  # side experiment -> scenario -> whether its table is there


def parts_table(config: Path, folder: Path, tables: Tables, titles: dict[str, str], labels: dict[str, str]) -> str:
    """A row a side experiment: the datasets that have its table, and those that were planned and have none."""
    run = build(Run, read_yaml(config), "")
    planned = _sweeps(run, folder) | _alphas(run, tables) | _searches(run, folder)
    rows = [[name, *_listed(scenarios, titles), _seeds(name, tables)] for name, scenarios in planned.items()]
    columns = ["side experiment", "run on", "missing", "seeds"]
    table = markdown(pd.DataFrame(rows, columns=columns), "").lstrip() if rows else ""
    absent = [f"{labels[variant]} on {titles[name]}" for name, variant in _methods(run, tables)]
    return table + (f"\nMethods that are missing where others were run: {'; '.join(absent)}.\n" if absent else "")


def _sweeps(run: Run, folder: Path) -> Planned:
    kinds = {"sigma sweep": ("sweep", run.sigma_sweep), "other sets of requests": ("request_sets", run.request_sets)}
    return {
        title: {name: _there(folder / stage / name) for name in part.scenarios}
        for title, (stage, part) in kinds.items()
        if part
    }


def _alphas(run: Run, tables: Tables) -> Planned:
    if not run.alpha_sweep:
        return {}
    found = set(zip(tables.bounds["scenario"], tables.bounds["change"], strict=True))
    return {
        f"alpha and Psi with {change.label}": {name: (name, change.name) in found for name in run.alpha_sweep.scenarios}
        for change in run.alpha_sweep.federations
    }


def _searches(run: Run, folder: Path) -> Planned:
    planned: Planned = {}
    for search in run.scenario_searches:
        place = folder / "scenario_search" / search.scenario / search.name
        planned.setdefault(f"search of {setting_name(search.grid)}", {})[search.scenario] = _there(place)
    return planned


def _methods(run: Run, tables: Tables) -> list[tuple[str, str]]:
    """Scenarios and variants that were planned and have no cells, of scenarios that were run."""
    only = {entry.scenario: entry.variants for entry in run.only}
    there = [name for name in run.scenarios if tables.ran(name, REFERENCE)]
    planned = [(name, variant) for name in there for variant in only.get(name, run.variants)]
    return [(name, variant) for name, variant in planned if not tables.ran(name, variant)]


def _seeds(experiment: str, tables: Tables) -> str:
    """How many seeds the tables of a kind of experiment have."""
    kinds = {"sigma": tables.sweep, "other": tables.sets, "alpha": tables.bounds, "search": tables.scenario_trials}
    return str(kinds[experiment.split()[0]]["seed"].nunique())


def _there(folder: Path) -> bool:
    return any(folder.glob("**/*.parquet"))


def _listed(scenarios: dict[str, bool], titles: dict[str, str]) -> list[str]:
    """Those that are there, those that are not."""
    return [", ".join(titles[name] for name, there in scenarios.items() if there is wanted) for wanted in (True, False)]
