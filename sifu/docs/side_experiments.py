"""The side experiments of a replication: on which datasets each was run, and where it is missing."""

from __future__ import annotations

from pathlib import Path

from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.search import setting_name
from sifu.docs.measured_text import table_text
from sifu.plan.load import read_yaml
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables

Planned = dict[str, dict[str, bool]]  # side experiment -> scenario -> whether it was run


def side_experiments_table(
    config: Path, folder: Path, tables: StoredTables, titles: dict[str, str], labels: dict[str, str]
) -> str:
    """A row a side experiment; then the methods that are missing on a dataset that was run."""
    run = build(Run, read_yaml(config), "")
    planned = _sweeps(run, folder) | _alphas(run, tables) | _searches(run, folder)
    rows = [[name, *_listed(scenarios, titles), _seeds(name, tables)] for name, scenarios in planned.items()]
    table = table_text(rows, "side experiment", "run on", "missing", "seeds") if rows else ""
    absent = [f"{labels[variant]} on {titles[name]}" for name, variant in _missing_methods(run, tables)]
    return table + (f"\nMethods that are missing where others were run: {'; '.join(absent)}.\n" if absent else "")


def _sweeps(run: Run, folder: Path) -> Planned:
    kinds = {"sigma sweep": ("sweep", run.sigma_sweep), "other sets of requests": ("request_sets", run.request_sets)}
    return {
        title: {name: _has_table(folder / stage / name) for name in part.scenarios}
        for title, (stage, part) in kinds.items()
        if part
    }


def _alphas(run: Run, tables: StoredTables) -> Planned:
    if not run.alpha_sweep:
        return {}
    measured = set(zip(tables.bounds["scenario"], tables.bounds["change"], strict=True))
    return {
        f"alpha and Psi with {change.label}": {
            name: (name, change.name) in measured for name in run.alpha_sweep.scenarios
        }
        for change in run.alpha_sweep.federations
    }


def _searches(run: Run, folder: Path) -> Planned:
    planned: Planned = {}
    for search in run.scenario_searches:
        place = folder / "scenario_search" / search.scenario / search.name
        planned.setdefault(f"search of {setting_name(search.grid)}", {})[search.scenario] = _has_table(place)
    return planned


def _missing_methods(run: Run, tables: StoredTables) -> list[tuple[str, str]]:
    """Scenarios and variants that were planned and have no cells, of scenarios that were run."""
    only = {entry.scenario: entry.variants for entry in run.only}
    scenarios = [name for name in run.scenarios if tables.ran(name, REFERENCE)]
    planned = [(name, variant) for name in scenarios for variant in only.get(name, run.variants)]
    return [(name, variant) for name, variant in planned if not tables.ran(name, variant)]


def _seeds(experiment: str, tables: StoredTables) -> str:
    """How many seeds the tables of a kind of experiment have."""
    kinds = {"sigma": tables.sweep, "other": tables.sets, "alpha": tables.bounds, "search": tables.scenario_trials}
    return str(kinds[experiment.split()[0]]["seed"].nunique())


def _has_table(folder: Path) -> bool:
    return any(folder.glob("**/*.parquet"))


def _listed(scenarios: dict[str, bool], titles: dict[str, str]) -> list[str]:
    """The scenarios that were run, then those that were not."""
    return [", ".join(titles[name] for name, ran in scenarios.items() if ran is wanted) for wanted in (True, False)]
