"""search: a hyper-parameter of a method with a training of its own -> every value tried, and the one to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.engine import Engine
from sifu.errors import SifuError, StoreError
from sifu.evaluation import share
from sifu.history import count_work
from sifu.methods.method import Method, OwnTraining
from sifu.run import Search
from sifu.schemas import SEARCH
from sifu.stages.block import Block
from sifu.stages.rows import frame
from sifu.stages.train import train
from sifu.store import read_table, write_table
from sifu.types import Status


def run_search(block: Block, variant: str, search: Search, methods: Mapping[float, Method], folder: Path) -> None:
    """Writes `folder`/search.parquet: a training with each of `methods`, one for each value, on the block's seeds."""
    engine = block.engine()
    rows: list[dict[str, Any]] = []
    for value, method in methods.items():
        rows += _trial(engine, block, method, search, value)
    table = frame(SEARCH, rows).assign(scenario=block.name, variant=variant, setting=search.key)
    table["chosen"] = table["value"] == best_value(table)
    stamp = block.stamp("search", next(iter(methods.values())))
    write_table(folder / "search.parquet", SEARCH, table, stamp)


def _trial(engine: Engine, block: Block, method: Method, search: Search, value: float) -> list[dict[str, Any]]:
    """One value: a row a seed."""
    if not isinstance(method, OwnTraining):
        raise SifuError(f"{method.name} has no training of its own to search with")
    scenario = method.training(block.scenario)
    most = min(search.rounds, scenario.stop.max_rounds)
    stop = replace(scenario.stop, max_rounds=most, min_rounds=min(scenario.stop.min_rounds, most))
    scenario, engine = replace(scenario, stop=stop), replace(engine, federation=scenario.federation)
    segment = train(engine, scenario, block.seeds, f"{block.name} {search.key}={value:g}")
    device, size = engine.clients.images.device, engine.clients.size
    correct = engine.evaluator.correct(segment.final.to(device), size.new_tensor(range(len(block.seeds))))
    accuracy = share(correct, size, segment.available.to(device)).cpu()
    work = count_work(segment, scenario.federation.local_steps)
    return [
        {
            "seed": seed,
            "value": value,
            "status": segment.status[i].value,
            "rounds": int(work.rounds[i]),
            "client_steps": int(work.client_steps[i]),
            "accuracy": float(accuracy[i]),
        }
        for i, seed in enumerate(block.seeds)
    ]


def best_value(table: pd.DataFrame) -> float:
    """The value that diverges on no seed, reaches the target on most, in the fewest client steps, most accurately."""
    lost = (table["status"] == Status.DIVERGED.value).groupby(table["value"]).any()
    done = (table["status"] == Status.DONE.value).groupby(table["value"]).sum()
    means = table.groupby("value")[["client_steps", "accuracy"]].mean()
    steps = means["client_steps"].where(done > 0, 0.0)  # where none got there, steps say nothing
    order = pd.DataFrame({"lost": lost, "done": -done, "steps": steps, "accuracy": -means["accuracy"]})
    return float(order.sort_values(list(order.columns)).index[0])


def chosen_value(path: Path) -> float:
    """The value that a search found."""
    table = read_table(path, SEARCH)
    values = table.loc[table["chosen"], "value"].unique()
    if len(values) != 1:
        raise StoreError(f"{path} does not say which one value was chosen")
    return float(values[0])
