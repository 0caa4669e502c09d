"""A small replication with numbers that can be checked by hand: the tables that claims need, and a folder of them."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sifu import RULES_VERSION
from sifu.certificate.gaussian import largest_ratio
from sifu.replication.claims.request_sets import RIVALS, SHOWN, SIFU
from sifu.replication.claims.stored_tables import DATASETS, REFERENCE, StoredTables
from sifu.stages.rows import frame
from sifu.store.experiment_schemas import NULL_SPACE, REQUEST_SETS, SCENARIO_SEARCH, SEARCH, SWEEP
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from sifu.store.report_schemas import BOUNDS
from sifu.store.schemas import CELLS, METRICS, VERIFICATION
from sifu.store.table import Table
from tests.conftest import REPO
from tests.outcomes import AS_CLAIMED, Outcome

_MADE: dict[str, StoredTables] = {}
_COPIES = tempfile.TemporaryDirectory()  # removed when the process ends
_WRITTEN: dict[str, Path] = {}
SEEDS, REQUESTS = (0, 1, 2), (1, 2)
BLOCK = "s000-002"
PLAIN = ("",)


@dataclass(frozen=True)
class World:
    """The outcome of every variant in every scenario; `changes` are by (scenario, variant)."""

    scenarios: tuple[str, ...] = DATASETS
    changes: Mapping[tuple[str, str], Outcome] = field(default_factory=dict)
    sweep: Mapping[float, tuple[float, str]] = field(
        default_factory=lambda: {0.01: (100.0, "done"), 0.1: (40.0, "done"), 1.0: (5.0, "lost")}
    )
    held: Mapping[str, float] = field(default_factory=lambda: {"": 1.0, "one_step": 1.0})  # change -> share of 100
    shares: float = 1.0  # share of the points that Psi by shares of all clients bounds
    strict: float = 1.0  # share of the points that strict Psi bounds
    hidden: float = 1.0  # share of the clients that the noise hides
    idle: int = 0  # clients that had not taken part
    left: float = 1.0  # of the distance in the null space, after the last step
    marks: tuple[str, ...] = ("", "_watermark", "_backdoor")  # which scenarios of each dataset there are

    def outcomes(self, scenario: str) -> dict[str, Outcome]:
        broken = Outcome(30, status="not_reached", retain=0.5)
        breaks = {"last": broken, "last_released": broken} if scenario.startswith("cifar") else {}
        changed = {name: outcome for (where, name), outcome in self.changes.items() if where in (scenario, "*")}
        return AS_CLAIMED | breaks | changed

    @property
    def places(self) -> tuple[str, ...]:
        """All scenarios: each dataset, and the same with watermarks and with backdoors."""
        return tuple(f"{name}{mark}" for mark in self.marks for name in self.scenarios)

    def tables(self) -> StoredTables:
        """Made and grouped once for all claims that are measured in the same world."""
        if repr(self) not in _MADE:
            _MADE[repr(self)] = self._tables()
        return _MADE[repr(self)]

    def _tables(self) -> StoredTables:
        return StoredTables(
            frame(CELLS, [row for name in self.places for row in self._cells(name)]),
            frame(METRICS, [row for name in self.places for row in self._metrics(name)]),
            frame(VERIFICATION, [row for name in self.places for row in self._checks(name)]),
            frame(SWEEP, [row for name in self.scenarios for row in self._sweep(name)]),
            frame(SEARCH, [_trial(name, value) for name in self.scenarios for value in (0.2, 0.5)]),
            frame(SCENARIO_SEARCH, []),
            frame(BOUNDS, [row for name in self.scenarios for row in self._bounds(name)]),
            frame(REQUEST_SETS, [row for name in self.scenarios for row in self._sets(name)]),
            frame(NULL_SPACE, self._null_space() if self.scenarios else []),
            frame(FORGETTING, []),
        )

    def _cells(self, scenario: str) -> list[dict[str, Any]]:
        rows = []
        for variant, outcome in self.outcomes(scenario).items():
            for seed in SEEDS:
                rounds, counted = outcome.rounds_of(seed), outcome.counted_of(seed)
                for key in _keys(scenario, variant, seed):
                    costs = {
                        "rounds": rounds,
                        "counted_rounds": counted,
                        "client_steps": outcome.steps * rounds,
                        "comm_floats": 0,
                    }
                    row = key | {"status": outcome.status, "cut_round": outcome.cut} | costs
                    if outcome.delta is not None:
                        row |= _certificate(outcome, outcome.delta, covers=10 if variant == "sifu_strict" else 1)
                    rows.append(row)
        return rows

    def _metrics(self, scenario: str) -> list[dict[str, Any]]:
        rows = []
        for variant, outcome in self.outcomes(scenario).items():
            for seed in SEEDS:
                for key in _keys(scenario, variant, seed):
                    rows.append(key | {"metric": "accuracy", "subset": "forgotten", "value": outcome.forgotten})
                    rows.append(key | {"metric": "accuracy", "subset": "test", "value": outcome.retain - 0.1})
                    for subset in ("retain", "forget"):
                        rows.append(key | {"metric": "gap_to_scratch", "subset": subset, "value": outcome.gap})
                        same = {"metric": "gap_to_scratch_same_stop", "subset": subset, "value": outcome.gap / 2}
                        rows.append(key | same)
                        accuracy = 0.9 if key["stop"] == "target" else outcome.retain
                        rows.append(key | {"metric": "accuracy", "subset": subset, "value": accuracy})
        return rows

    def _checks(self, scenario: str) -> list[dict[str, Any]]:
        """Two clients with triggers, in scenarios with backdoors only."""
        test = {"left_at": 1, "examples": 100, "alpha": 0.001, "chance": 0.02, "threshold": 8, "accused": False}
        return [
            key | test | {"client": client, "successes": outcome.triggers, "type_1": 0.0, "type_2": 0.0}
            for variant, outcome in self.outcomes(scenario).items()
            for seed in SEEDS
            for key in _keys(scenario, variant, seed)
            for client in (1, 2)
            if scenario.endswith("_backdoor")
        ]

    def _sweep(self, scenario: str) -> list[dict[str, Any]]:
        ended = {"retain_accuracy": 0.9, "forget_accuracy": 0.1}
        return [
            {"scenario": scenario, "variant": "sifu_released", "sigma": sigma, "seed": seed, "request": request}
            | {"status": status, "rounds": round(rounds), "counted_rounds": round(rounds), "client_steps": 0}
            | ended
            | {"cut_round": AS_CLAIMED["last_released"].cut if sigma == max(self.sweep) else 0}
            for sigma, (rounds, status) in self.sweep.items()
            for seed in SEEDS
            for request in REQUESTS
        ]

    def _sets(self, scenario: str) -> list[dict[str, Any]]:
        """Two other sets of clients, with the same outcome."""
        return [
            {"scenario": scenario, "variant": variant, "set": place, "seed": seed, "status": outcome.status}
            | {"rounds": outcome.rounds_of(seed), "counted_rounds": outcome.counted_of(seed)}
            | {"client_steps": 0, "cut_round": 0, "retain_accuracy": 0.9, "forget_accuracy": outcome.forgotten}
            for variant, outcome in self.outcomes(scenario).items()
            for place in (0, 1)
            for seed in SEEDS
            if variant in (REFERENCE, SIFU, SHOWN, *RIVALS)
        ]

    def _null_space(self) -> list[dict[str, Any]]:
        """Two steps, of which the second leaves a part of the distance."""
        ends = {0: 1.0, 1: self.left}
        return [
            {"seed": seed, "step": step, "null_space": distance, "span": 0.0, "left_behind": 1.0}
            for seed in SEEDS
            for step, distance in ends.items()
        ]

    def _bounds(self, scenario: str) -> list[dict[str, Any]]:
        return [
            {"scenario": scenario, "change": change, "request": 0, "rule": rule, "seed": seed}
            | {"points": 100, "held": round(100 * held), "worst": 2 - held}
            | (
                dict.fromkeys(("forgotten", "hidden", "idle"))
                if change or rule == "empty_seats"
                else self._client_counts()
            )
            for change, share in self.held.items()
            for rule, held in (("empty_seats", share), ("published", self.shares), ("strict", self.strict))
            for seed in SEEDS
        ]

    def _client_counts(self) -> dict[str, int]:
        """The counts of a seed: a hundred clients that took part, and some that did not."""
        return {"forgotten": 100 + self.idle, "hidden": round(100 * self.hidden) + self.idle, "idle": self.idle}

    def write(self, root: Path) -> Path:
        """The same as a checkout with a config and results; tables are written once, then copied."""
        if repr(self) not in _WRITTEN:
            _WRITTEN[repr(self)] = Path(_COPIES.name, str(len(_WRITTEN)))
            self._write(_WRITTEN[repr(self)])
        shutil.copytree(REPO / "config", root / "config", dirs_exist_ok=True)
        return Path(shutil.copytree(_WRITTEN[repr(self)], root / "results" / "paper", dirs_exist_ok=True))

    def _write(self, folder: Path) -> None:
        tables = self.tables()
        for name in self.places:
            for variant in self.outcomes(name):
                part = tables.cells[(tables.cells["scenario"] == name) & (tables.cells["variant"] == variant)]
                _write(folder / "unlearn" / name / variant / BLOCK / "cells.parquet", CELLS, part)
            _write(folder / "verify" / name / BLOCK / "metrics.parquet", METRICS, _part(tables.metrics, name))
            _write(folder / "verify" / name / BLOCK / "verification.parquet", VERIFICATION, _part(tables.checks, name))
        for name in self.scenarios:
            _write(
                folder / "sweep" / name / "sifu_released" / BLOCK / "sweep.parquet", SWEEP, _part(tables.sweep, name)
            )
            path = folder / "request_sets" / name / BLOCK / "request_sets.parquet"
            _write(path, REQUEST_SETS, _part(tables.sets, name))
            path = folder / "search" / name / "dp_released" / "s1000000-1000000" / "search.parquet"
            _write(path, SEARCH, _part(tables.trials, name))
        _write(folder / "report" / "tables" / "bounds.parquet", BOUNDS, tables.bounds)
        _write(folder / "null_space" / "null_space.parquet", NULL_SPACE, tables.null_space)


@cache
def _hidden_up_to(delta: float) -> float:
    """The sensitivity that noise of 1 hides with this delta at epsilon 10; infinite for 1."""
    return math.inf if delta >= 1 else largest_ratio(10.0, delta, "analytic")


def _certificate(outcome: Outcome, delta: float, covers: int) -> dict[str, Any]:
    """A promise of (10, 0.01), and the sensitivities that noise of 1 hides up to the outcome's deltas."""
    together = delta if outcome.together is None else outcome.together
    one, request = _hidden_up_to(delta), _hidden_up_to(together)
    claim = {"claimed_epsilon": 10.0, "claimed_delta": 0.01, "covers": covers, "covers_everyone": False, "sigma": 1.0}
    psi = {"single_psi": one, "strict_psi": request, "everyone_psi": request}
    return claim | psi | {"actual_epsilon": 10.0, "actual_delta": together}


def _keys(scenario: str, variant: str, seed: int) -> list[dict[str, Any]]:
    return [
        {"scenario": scenario, "variant": variant, "stop": stop, "seed": seed, "request": request}
        for stop in ("target", "budget_25", "budget_50")
        for request in REQUESTS
    ]


def _trial(scenario: str, value: float) -> dict[str, Any]:
    key = {"scenario": scenario, "variant": "dp_released", "setting": "clip", "seed": 1_000_000}
    return (
        key
        | {"place": int(value == 0.5), "value": f"{value:g}"}
        | {"status": "done", "rounds": 9, "client_steps": 90, "accuracy": 0.9, "chosen": value == 0.2}
    )


def _part(rows: pd.DataFrame, scenario: str) -> pd.DataFrame:
    return rows[rows["scenario"] == scenario]


def _write(path: Path, table: Table, rows: pd.DataFrame) -> None:
    write_table(path, table, rows, provenance("test", {}, "0", "cpu"))


def write_manifest(folder: Path, **entries: Any) -> None:
    """Write the smallest manifest."""
    smallest = {"rules_version": RULES_VERSION, "seeds": [], "scenarios": {}, "variants": {}, "blocks": []}
    (folder / "manifest.json").write_text(json.dumps(smallest | entries))


def write_training(folder: Path, dataset: str, source: str, images: dict[str, int]) -> None:
    """Write the table of a training that says what data it had."""
    stamp = provenance("train", {"dataset": {"name": dataset, "source": source}}, "0", "cpu", images=images)
    write_table(folder / "train" / dataset / BLOCK / "cells.parquet", CELLS, frame(CELLS, []), stamp)
