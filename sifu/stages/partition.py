"""partition: a dataset and a seed -> who holds which example."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from sifu.catalog.datasets import DATASETS
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.data.clients import SERVER
from sifu.data.dataset import Images, load_images
from sifu.data.partition import Holdings, partition_split
from sifu.data.released import image_shape
from sifu.data.twins import twin_of
from sifu.plan.code_hash import code_hash
from sifu.plan.freshness import relevant_settings, stage_modules
from sifu.stages.call import StageCall
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import PARTITION
from sifu.unlearning.request import draw_requests


def command(call: StageCall) -> None:
    """`python -m sifu partition`."""
    with call.timed() as folder:
        arguments = (call.options.scenario, call.scenario, call.seeds, folder)
        run_partition(*arguments, data_root=call.data_root, download=call.options.download)


def run_partition(
    name: str, scenario: Scenario, seeds: range, folder: Path, *, data_root: Path, download: bool = False
) -> None:
    """Writes `folder`/partition.parquet for all seeds of a block."""
    images = load_images(scenario.dataset, data_root, download=download)
    marked = image_shape(DATASETS[scenario.dataset.name].shape) if _is_marked(scenario) else None
    parts = (scenario.partition, images.train, scenario.num_classes)
    held = {seed: partition_split(*parts, seed, marked, _with_twins(scenario, seed)) for seed in seeds}
    moved = {seed: holdings.moved for seed, holdings in held.items()}
    for seed, count in moved.items():
        if count:
            print(f"{name}, seed {seed}: a class ran out, {count} examples came from other classes", file=sys.stderr)
    frames = [_frame(name, seed, holdings, images) for seed, holdings in held.items()]
    stamp = provenance(
        "partition",
        relevant_settings("partition", scenario),
        code_hash(*stage_modules("partition", scenario)),
        "cpu",
        moved=moved,
    )
    write_table(folder / "partition.parquet", PARTITION, pd.concat(frames), stamp)


def _is_marked(scenario: Scenario) -> bool:
    """Whether marks have a part in the draws, as in the paper's code."""
    return scenario.watermark is not None and scenario.watermark.as_released


def _with_twins(scenario: Scenario, seed: int) -> list[int]:
    """The clients that get a twin: those of all requests; none unless the partition says so."""
    if not scenario.partition.twins:
        return []
    return torch.stack(draw_requests(scenario, Keys.of([seed]))).any(0)[0].nonzero().flatten().tolist()


def _frame(name: str, seed: int, holdings: Holdings, images: Images) -> pd.DataFrame:
    own = {} if holdings.server is None else {SERVER: holdings.server}
    held = holdings.rows | own | {twin_of(client): rows for client, rows in holdings.twins.items()}
    rows = np.concatenate(list(held.values()))
    sizes = [len(part) for part in held.values()]
    return pd.DataFrame(
        {
            "scenario": name,
            "seed": seed,
            "client": np.repeat(list(held), sizes),
            "place": np.concatenate([np.arange(size) for size in sizes]),
            "row": rows,
            "label": images.train.labels[rows],
        }
    )
