"""The dataset of margins: its tables are the run's, and its data card is valid and leads to them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from sifu.cli.main import main
from sifu.errors import StoreError
from sifu.replication.dataset.margins import write_dataset
from sifu.store.oracle_schemas import MARGINS, POINTS, WITH_CLIENT, WITH_TWIN
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from tests.conftest import REPO
from tests.unit.stages.tiny_oracles import TINY

_POINTS = {"owner": "client", "client": 0, "label": 1, "left_at": 0}
RUN: dict[str, Any] = {
    **{"scenarios": ["tiny", "other"], "variants": ["scratch"], "num_seeds": 1, "results": "results"},
    "oracles": {"scenarios": ["tiny", "other"], "variants": ["scratch"], "models": 10, "block_size": 10},
}


def _block(folder: Path, seeds: range) -> Path:
    """Two models a seed, one of each world, with two points: images 7 and 8."""
    stamp = replace(provenance("oracles", {"model": "logistic"}, "", "cpu"), commit="c0ffee")
    cell: dict[str, Any] = {"scenario": "tiny", "variant": "scratch", "request": 1}
    models = [(seed, world) for seed in seeds for world in (WITH_CLIENT, WITH_TWIN)]
    cell |= {"status": "done", "rounds": 1, "predicted": np.array([1, 2], np.uint8)}
    rows = [cell | {"world": w, "seed": s, "margins": np.array([s, -s], np.float16)} for s, w in models]
    frame = pd.DataFrame(rows).assign(relearn_steps=None, relearned=None)
    write_table(folder / "margins.parquet", MARGINS, frame, stamp, row_group_size=1)
    points = pd.DataFrame([_POINTS | {"scenario": "tiny", "point": n, "place": n, "row": 7 + n} for n in range(2)])
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
    text = (dataset / "README.md").read_text()
    assert "make run CONFIG=tiny.yaml" in text
    assert "Commit c0ffee" in text
    assert "model: logistic" in text
    assert pd.read_parquet(dataset / "tiny" / "points.parquet")["row"].tolist() == [7, 8]


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


def test_a_block_from_before_images_were_named(tmp_path: Path) -> None:
    """The points of one that names them are taken; where none does, the card has no such column."""
    stage = tmp_path / "oracles" / "tiny"
    blocks = [_block(stage / "s000-000", range(1)), _block(stage / "s001-001", range(1, 2))]
    old = pq.read_table(blocks[0] / "points.parquet")
    pq.write_table(old.drop_columns("row"), blocks[0] / "points.parquet")
    for paths, named in ((blocks, True), (blocks[:1], False)):
        write_dataset(tmp_path / "out", {"tiny": paths}, "", "2024-05-02")
        assert ("row" in pq.read_schema(tmp_path / "out" / "tiny" / "points.parquet").names) == named
        assert ("tiny/points/row" in (tmp_path / "out" / "croissant.json").read_text()) == named


def test_the_command_writes_one_scenario_while_others_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(
        yaml.safe_dump(yaml.safe_load((REPO / "config/many.yaml").read_text()) | RUN | {"request_sets": None})
    )
    (tmp_path / "scenarios.yaml").write_text(yaml.safe_dump({"tiny": TINY, "other": TINY}))
    (tmp_path / "variants.yaml").write_text((REPO / "config" / "variants.yaml").read_text())
    _block(tmp_path / "results" / "oracles" / "tiny" / "s000-009", range(10))
    assert main(["dataset", "--config", "run.yaml"]) == 2
    assert "results/oracles/other/s000-009): run `make run CONFIG=run.yaml` first" in capsys.readouterr().err
    assert main(["dataset", "--config", "run.yaml", "--scenario", "third"]) == 2
    assert "--scenario: 'third' is refused; allowed: one of tiny, other" in capsys.readouterr().err
    assert main(["dataset", "--config", "run.yaml", "--scenario", "tiny"]) == 0
    assert sorted(path.name for path in (tmp_path / "results" / "dataset").iterdir()) == [
        *("README.md", "SHA256SUMS", "croissant.json", "tiny")
    ]
    assert pq.ParquetFile(tmp_path / "results" / "dataset" / "tiny" / "margins.parquet").num_row_groups == 20


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"s000-001.*make run CONFIG=tiny\.yaml"):
        write_dataset(tmp_path / "out", {"tiny": [tmp_path / "s000-001"]}, "make run CONFIG=tiny.yaml", "2024-05-02")
    assert not (tmp_path / "out").exists()
