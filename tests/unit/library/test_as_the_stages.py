"""The library and the stages give the same numbers, digit by digit, from the same data, seeds and settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import sifu
from sifu.catalog.datasets import DATASETS
from sifu.config.scenario import Scenario, request_lists
from sifu.data.embedded import mnist
from sifu.plan.load import load_scenario, load_variant
from sifu.stages.choice import chosen_values
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS, METRICS, PARTITION
from sifu.store.tensors import read_weights
from tests.small_run import BLOCK

SEEDS = (0, 1)  # of the small run
KEY = ["scenario", "variant"]
COUNTED = ["strict_psi", "single_psi", "everyone_psi", "empty_psi", "alpha", "actual_epsilon", "actual_delta"]
COUNTED += ["spent_epsilon", "group_epsilon"]


@pytest.fixture(scope="module")
def scenario(small_run: Path) -> Scenario:
    return load_scenario(small_run / "config" / "scenarios.yaml", "smoke", small_run)


@pytest.fixture(scope="module")
def trainings(small_run: Path, scenario: Scenario) -> dict[int, sifu.Training]:
    """The small run's trainings, from arrays: bytes, scaled by the numbers of the catalog."""
    held = read_table(small_run / "results/partition/smoke" / BLOCK / "partition.parquet", PARTITION)
    split, spec = mnist("mnist", small_run, check_files=True, download=False).train, DATASETS["mnist"]
    federation = {name: getattr(scenario.federation, name) for name in ("clients_per_round", "local_steps")}
    federation |= {name: getattr(scenario.federation, name) for name in ("batch_size", "client_lr", "momentum")}
    stop = {"min_rounds": scenario.stop.min_rounds, "max_rounds": scenario.stop.max_rounds}
    found = {}
    for seed in SEEDS:
        own = held[(held["seed"] == seed) & (held["client"] >= 0)]  # without twins
        groups = own.sort_values(["client", "place"]).groupby("client")["row"]
        rows = [group.to_numpy() for _, group in groups]
        images, labels = [split.pixels(own) for own in rows], [split.labels[own] for own in rows]
        scaled = {"mean": spec.mean, "std": spec.std, "num_classes": spec.num_classes}
        machine = {"device": "cpu", "progress": False, "target": scenario.stop.accuracy, "seeds": [seed]}
        found[seed] = sifu.train(images, labels, **scaled, **federation, **stop, **machine)
    return found


def same(found: pd.DataFrame, table: pd.DataFrame, seed: int, **key: object) -> None:
    """A row of the library is that of a stage, but for the scenario's and the variant's name.

    What a certificate is worth under a budget is counted by the library alone, where it is asked for.
    """
    for name, value in (key | {"seed": seed}).items():
        table = table[table[name] == value]
    assert len(table) == len(found) == 1
    uncounted = () if table["stop"].iloc[0] == "target" else COUNTED
    for name in table.columns.difference([*KEY, *uncounted]):
        own, other = found[name].iloc[0], table[name].iloc[0]
        assert own == other or (pd.isna(own) and pd.isna(other)), f"{name}: {own}, in the stage's table {other}"


def same_accuracy(answer: sifu.Answer, metrics: pd.DataFrame, variant: str, seed: int, stop: str) -> None:
    rows = metrics[(metrics["variant"] == variant) & (metrics["seed"] == seed) & (metrics["stop"] == stop)]
    rows = rows[(rows["request"] == answer.number) & (rows["metric"] == "accuracy")]
    stage = rows.set_index("subset")["value"].to_dict()
    found = {name: values[0] for name, values in vars(answer.accuracy).items() if values is not None}
    assert found == stage


def test_trainings(small_run: Path, trainings: dict[int, sifu.Training]) -> None:
    cells = read_table(small_run / "results/train/smoke" / BLOCK / "cells.parquet", CELLS)
    for seed, training in trainings.items():
        same(training.cells, cells, seed)


@pytest.mark.parametrize(("budget", "stop"), [(None, "target"), (0.5, "budget_50")])
@pytest.mark.parametrize("variant", ["scratch", "sifu", pytest.param("dp_smoke", marks=pytest.mark.second)])
def test_answers(
    small_run: Path,
    trainings: dict[int, sifu.Training],
    scenario: Scenario,
    variant: str,
    budget: float | None,
    stop: str,
) -> None:
    folder = small_run / "results/unlearn/smoke" / variant / BLOCK
    cells, weights = read_table(folder / "cells.parquet", CELLS), read_weights(folder / "weights.safetensors")
    metrics = read_table(small_run / "results/verify/smoke" / BLOCK / "metrics.parquet", METRICS)
    chosen = load_variant(small_run / "config" / "variants.yaml", variant)
    settings = (chosen.settings or {}) | ({} if variant == "scratch" else {"sigma": scenario.certificate.sigma})
    if chosen.search is not None:
        searched = small_run / "results/search/smoke" / variant / chosen.search.block
        settings |= chosen_values(searched / "search.parquet", chosen.search)
    for row, seed in enumerate(SEEDS):
        answer = None
        for clients in request_lists(scenario) or ():
            if answer is None:
                answer = trainings[seed].forget(clients, chosen.method, budget=budget, **settings)
            else:
                answer = answer.forget(clients)
            same(answer.cells, cells, seed, stop=stop, request=answer.number)
            same_accuracy(answer, metrics, variant, seed, stop)
            assert torch.equal(answer.weights[0], weights[f"{stop}/{answer.number}/weights"][row])
            promised = answer.certificate
            assert promised is not None
            assert promised.actual_delta[0] == answer.cells["actual_delta"].iloc[0]


def test_a_seed_is_the_same_alone_and_among_others() -> None:
    images = list(np.random.default_rng(0).normal(size=(4, 6, 5)))
    labels = [np.arange(6) % 3 for _ in range(4)]
    usual = {"max_rounds": 3, "min_rounds": 0, "target": 1.0, "device": "cpu", "progress": False}
    together = sifu.train(images, labels, seeds=[7, 2, 5], **usual).forget(1)
    for row, seed in enumerate((7, 2, 5)):
        alone = sifu.train(images, labels, seeds=[seed], **usual).forget(1)
        assert torch.equal(alone.weights[0], together.weights[row])
        assert alone.accuracy.retain[0] == together.accuracy.retain[row]
