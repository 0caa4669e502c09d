"""The tables that claims are measured on: those of a results folder that git keeps."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.report.bounds import refuted_by_seed
from sifu.report.forgetting import by_the_rule
from sifu.report.judged_promises import judged_promises
from sifu.report.packed import unpack
from sifu.report.privacy_points import ROUNDING, at_claim, claimed_ratio, promised_psi, psi_over_sigma
from sifu.report.statistics import paid_steps
from sifu.store import parquet as store
from sifu.store.experiment_schemas import NULL_SPACE, REQUEST_SETS, SCENARIO_SEARCH, SEARCH, SWEEP
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.report_schemas import BOUNDS
from sifu.store.schemas import CELLS, METRICS, VERIFICATION

DATASETS = ("mnist", "fashionmnist", "cifar10", "cifar100", "celeba")  # the scenarios that claims are judged on
SHOWN_ONLY = ("mnist_by_writer",)  # not judged: a natural partition that everybody can download
EXAMPLE = "linear_regression"  # the paper's appendix A, on data of its own
REFERENCE = "scratch"


@dataclass(frozen=True)
class StoredTables:
    """The tables of a results folder, with the rows of every seed."""

    cells: pd.DataFrame
    metrics: pd.DataFrame
    checks: pd.DataFrame
    sweep: pd.DataFrame
    trials: pd.DataFrame
    scenario_trials: pd.DataFrame
    bounds: pd.DataFrame  # of single clients
    sets: pd.DataFrame  # other sets of requests
    null_space: pd.DataFrame
    forgetting: pd.DataFrame  # two questions to many models
    refuted: Collection[str] = ()  # scenarios whose B a training without some of their clients refutes

    @cached_property
    def first_request(self) -> StoredTables:
        """The same with the rows of the first request alone."""
        parts = {name: getattr(self, name) for name in ("cells", "metrics", "checks", "sweep")}
        return replace(self, **{name: table[table["request"] == 1] for name, table in parts.items()})

    def ran(self, scenario: str, variant: str) -> int:
        """How many seeds have cells, however they ended."""
        return int(self._to_target(scenario, variant)["seed"].nunique())

    def rounds_to_target(self, scenario: str, variant: str) -> list[int]:
        """The rounds of every answer."""
        return [int(rounds) for rounds in self._to_target(scenario, variant)["rounds"]]

    def finished(self, scenario: str, *variants: str) -> pd.Index:
        """The seeds in which each of `variants` reached the target after every request."""
        answers = [self._to_target(scenario, name) for name in variants]
        seeds = [set(rows["seed"]) - set(rows.loc[rows["status"] != "done", "seed"]) for rows in answers]
        return pd.Index(sorted(set.intersection(*seeds)))

    def went_back_to(self, scenario: str, variant: str) -> pd.Series:
        """By seed, the latest round that a recovery to the target started from, over all requests."""
        return self._to_target(scenario, variant).groupby("seed")["cut_round"].max()

    def totals(self, scenario: str, variant: str, column: str = "rounds") -> pd.Series:
        """By seed, a cost to the target over all requests; no value where a request missed the target.

        Client steps are those that are paid, with spare clients of the training.
        """
        key = ("totals", scenario, variant, column)
        if key not in self._asked:
            self._asked[key] = _totals(self._to_target(scenario, variant), column)
        return self._asked[key]

    def swept(self, scenario: str, variant: str) -> dict[float, pd.DataFrame]:
        """The rows of a scenario in the sigma sweep of a variant, sigma by sigma."""
        rows = self.sweep[(self.sweep["scenario"] == scenario) & (self.sweep["variant"] == variant)]
        return {float(str(sigma)): group for sigma, group in rows.groupby("sigma")}

    def values(self, scenario: str, variant: str, metric: str, subset: str, stop: str = "target") -> pd.Series:
        """A metric by seed, the mean over its requests."""
        key = (scenario, variant, stop, metric, subset)
        if key not in self._asked:
            rows = self.metrics.iloc[self._places.get(key, [])]
            self._asked[key] = rows.groupby("seed")["value"].mean()
        return self._asked[key]

    def promises(self, scenario: str, variant: str, of: str, *, together: bool = False) -> pd.Series:
        """Actual over claimed `of` (delta | epsilon) of every request that has a certificate, with its seed as index.

        Counted for whom the promise is made; `together`: for all clients of the request. A recovery that misses the
        target, or diverges, has a certificate, too: it is about the model that recovery starts from.
        """
        key = ("promises", scenario, variant, of, "together" if together else "")
        if key not in self._asked:
            rows = self._promises(scenario, variant)
            over = at_claim(rows, of, together=together) / rows[f"claimed_{of}"].astype(float)
            self._asked[key] = over.dropna()
        return self._asked[key]

    def too_far(self, scenario: str, variant: str) -> pd.Series:
        """Whether the clients of each request were measured further from a retraining than the noise hides; of requests
        that were measured, with their seed as index.
        """
        rows = self._promises(scenario, variant)
        rows = rows[rows["alpha"].notna() & rows["sigma"].notna()] if "alpha" in rows else rows[:0]
        claims = zip(rows["claimed_epsilon"].astype(float), rows["claimed_delta"].astype(float), strict=True)
        hidden = pd.Series([claimed_ratio(*claim) for claim in claims], rows.index, dtype=float)
        return psi_over_sigma(rows["alpha"], rows["sigma"]) > hidden * (1 + ROUNDING)

    def ratios(self, scenario: str, variant: str) -> pd.Series:
        """Sensitivity over noise of every request, for whom its promise is made, with its seed as index; none without
        a count.
        """
        rows = self._promises(scenario, variant)
        return psi_over_sigma(promised_psi(rows), rows["sigma"]).dropna()

    def _promises(self, scenario: str, variant: str) -> pd.DataFrame:
        """Answers to the target whose promise is judged, with their seed as index."""
        return judged_promises(self._to_target(scenario, variant)).set_index("seed")

    def ended(self, scenario: str, variant: str, status: str) -> pd.Series:
        """By seed, the share of requests whose recovery to the target ended with `status`."""
        rows = self._to_target(scenario, variant)
        return (rows["status"] == status).groupby(rows["seed"]).mean()

    def budgets(self, scenario: str) -> list[str]:
        """The limits on recovery that a scenario was run under."""
        return sorted(self._stops.get(scenario, set()) - {"target"})

    def _to_target(self, scenario: str, variant: str) -> pd.DataFrame:
        return self._answers.get((scenario, variant), self.cells.iloc[:0])

    # grouped once: claims ask a thousand times
    @cached_property
    def _answers(self) -> dict[Hashable, pd.DataFrame]:
        rows = self.cells[self.cells["stop"] == "target"]
        return dict(iter(rows.groupby(["scenario", "variant"])))

    @cached_property
    def _stops(self) -> dict[Hashable, set[str]]:
        return {name: set(stops) for name, stops in self.cells.groupby("scenario")["stop"]}

    @cached_property
    def _places(self) -> dict[Hashable, Any]:
        """Where the rows of each metric stand."""
        return self.metrics.groupby(["scenario", "variant", "stop", "metric", "subset"]).indices

    @cached_property
    def _asked(self) -> dict[tuple[str, ...], pd.Series]:
        """What has been asked for, which nobody changes."""
        return {}


def _totals(rows: pd.DataFrame, column: str) -> pd.Series:
    done = (rows["status"] == "done").groupby(rows["seed"]).all()
    costs = paid_steps(rows) if column == "client_steps" else rows[column].astype(float)
    return costs.groupby(rows["seed"]).sum()[done]


def total_rounds(rows: pd.DataFrame) -> pd.Series:
    """Rounds of a sweep's rows over all requests, by seed; no value where a request missed the target."""
    return _totals(rows, "rounds")


def total_steps(rows: pd.DataFrame) -> pd.Series:
    """The same of client steps that are paid."""
    return _totals(rows, "client_steps")


def read_tables(folder: Path, planned: Collection[Path] | None = None) -> StoredTables:
    """The tables of a results folder that claims need; what was not run has no rows.

    `planned`: the files of stages that count; None: all. A folder may hold older ones, of other blocks of seeds.
    """
    unpack(folder)
    return _read_all(tuple(_stamped(folder, pattern, planned) for pattern in _FILES))


_Files = tuple[tuple[str, int, int], ...]


def _stamped(folder: Path, pattern: str, planned: Collection[Path] | None) -> _Files:
    """Files, and when they were last changed. What a report has made of stages is always planned."""
    found = sorted(folder.glob(pattern))
    if planned is not None and not pattern.startswith("report/"):
        found = [path for path in found if path in planned]
    return tuple((str(path), path.stat().st_ctime_ns, path.stat().st_size) for path in found)


_FILES = {
    "report/tables/bounds.parquet": BOUNDS,
    "unlearn/*/*/*/cells.parquet": CELLS,
    "verify/*/*/metrics.parquet": METRICS,
    "verify/*/*/verification.parquet": VERIFICATION,
    "sweep/*/*/*/sweep.parquet": SWEEP,
    "search/*/*/*/search.parquet": SEARCH,
    "scenario_search/*/*/*/scenario_search.parquet": SCENARIO_SEARCH,
    "request_sets/*/*/request_sets.parquet": REQUEST_SETS,
    "null_space/null_space.parquet": NULL_SPACE,
    "forgetting/*/*/forgetting.parquet": FORGETTING,
}


@lru_cache(maxsize=1)  # every page quotes the same run, of a thousand files
def _read_all(files: tuple[_Files, ...]) -> StoredTables:
    """The tables of `files`, for each table of _FILES; they are read again when one of them changes."""
    tables = zip(files, _FILES.values(), strict=True)
    bounds, *others = (store.read_tables([Path(path) for path, *_ in found], table) for found, table in tables)
    cells, metrics, checks, sweep, trials, scenario_trials, sets, null_space, forgetting = others
    of_clients = bounds[bounds["request"] == 0]
    more = (of_clients, sets, null_space, by_the_rule(forgetting), refuted_by_seed(bounds))
    return StoredTables(cells, metrics, checks, sweep, trials, scenario_trials, *more)
