"""The dataset of margins: its tables are the run's, and its data card is valid and leads to them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from sifu.errors import StoreError
from sifu.replication.dataset.margins import write_dataset
from sifu.store.oracle_schemas import MARGINS, POINTS, WITH_CLIENT, WITH_TWIN
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance

_POINTS = {"owner": "client", "client": 0, "label": 1, "left_at": 0}


def _block(folder: Path, seeds: range) -> Path:
    """Two models a seed, one of each world, with two points."""
    stamp, cell = provenance("oracles", {}, "", "cpu"), {"scenario": "tiny", "variant": "scratch", "request": 1}
    models = [(seed, world) for seed in seeds for world in (WITH_CLIENT, WITH_TWIN)]
    cell |= {"status": "done", "rounds": 1, "predicted": np.array([1, 2], np.uint8)}
    rows = [cell | {"world": w, "seed": s, "margins": np.array([s, -s], np.float16)} for s, w in models]
    frame = pd.DataFrame(rows).assign(relearn_steps=None, relearned=None)
    write_table(folder / "margins.parquet", MARGINS, frame, stamp, row_group_size=1)
    points = pd.DataFrame([_POINTS | {"scenario": "tiny", "point": n, "place": n} for n in range(2)])
    write_table(folder / "points.parquet", POINTS, points, stamp)
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    stage = tmp_path / "oracles" / "tiny"
    blocks = [_block(stage / "s000-001", range(2)), _block(stage / "s002-002", range(2, 3))]
    write_dataset(tmp_path / "dataset", {"tiny": blocks}, "make run CONFIG=tiny.yaml", "2024-05-02")
    return tmp_path / "dataset"


def test_all_blocks_are_in_one_file_with_a_row_group_a_model(dataset: Path) -> None:
    file = pq.ParquetFile(dataset / "tiny" / "margins.parquet")
    assert file.num_row_groups == 6  # three seeds, two worlds
    assert sorted(file.read().to_pandas()["margins"].map(list).tolist())[0] == [0.0, 0.0]
    for line in (dataset / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((dataset / name).read_bytes()).hexdigest() == digest
    assert "make run CONFIG=tiny.yaml" in (dataset / "README.md").read_text()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, by mlcroissant
def test_the_data_card_is_valid_and_leads_to_the_records(dataset: Path, caplog: pytest.LogCaptureFixture) -> None:
    """mlcroissant raises on an error, and logs a warning about anything that is not as the standard has it."""
    import mlcroissant

    card = mlcroissant.Dataset(jsonld=str(dataset / "croissant.json"))
    assert not [record.message for record in caplog.records]
    assert [one.uuid for one in card.metadata.record_sets] == ["tiny/margins", "tiny/points"]
    records = list(card.records("tiny/margins"))
    assert len(records) == 6
    seeds = {record["tiny/margins/seed"]: list(record["tiny/margins/margins"]) for record in records}
    assert seeds == {0: [0, 0], 1: [1, -1], 2: [2, -2]}


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"s000-001.*make run CONFIG=tiny\.yaml"):
        write_dataset(tmp_path / "out", {"tiny": [tmp_path / "s000-001"]}, "make run CONFIG=tiny.yaml", "2024-05-02")
    assert not (tmp_path / "out").exists()
