"""The atlas: a client's memorisation is what its own margins lose without it, and alpha is that of its own stage."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from sifu.certificate.alpha import measure_alpha
from sifu.cli.main import main
from sifu.config.fields import build
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.first_training import train_from
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.forgetting.margin import margin
from sifu.report.atlas import by_client
from sifu.stages.alpha import alpha_rows
from sifu.stages.atlas import atlas_rows
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.store.experiment_schemas import ATLAS
from sifu.store.parquet import read_stamp, read_tables
from sifu.unlearning.counterfactual import without
from sifu.unlearning.lineage import Lineage
from tests.conftest import REPO
from tests.unit.stages.tiny_oracles import TINY


def test_what_is_lost_without_a_client(tmp_path: Path) -> None:
    """Seeds one by one, by the engine of the other stages; the atlas trains all of them at once."""
    scenario = build(Scenario, TINY, "tiny")
    run_partition("tiny", scenario, range(1), tmp_path, data_root=Path("data"))
    block = Block("tiny", scenario, range(1), tmp_path / "partition.parquet", Path("data"), threads=1)
    rows = atlas_rows(block, range(3), [4])
    (row,) = by_client(rows).to_dict("records")
    engine, mask = block.engine(), torch.arange(6) == 4
    alphas, memories = [], []
    for seed in range(3):
        segment = train_from(engine, scenario, Keys.of([seed]))
        alphas.append(measure_alpha(engine, segment, torch.tensor([0]), mask[None])[0, -1].item())
        phi = engine.run(
            segment.start, ~mask[None], Keys(segment.key_state), Stop(None, 0, segment.rounds), snapshot_every=2
        ).final
        images, labels = engine.clients.images[0, 4], engine.clients.labels[0, 4]
        both = [engine.model.logits(weights[0], images).numpy() for weights in (segment.final, phi)]
        memories.append(float(np.subtract(*(margin(logits, labels).mean() for logits in both))))
    assert row["alpha"] == pytest.approx(np.mean(alphas), rel=1e-4)
    assert row["memorisation"] == pytest.approx(np.mean(memories), abs=5e-3)  # margins are stored as float16
    assert row["memorisation"] > 0
    assert row["seeds"] == 3
    assert row["deviation"] == pytest.approx(rows["memorisation"].std())


def test_psi_is_that_of_its_own_stage(tmp_path: Path) -> None:
    """By the paper's shares and strictly, as the stage `alpha` counts them; strictly it is a bound."""
    scenario = replace(build(Scenario, TINY, "tiny"), alpha_clients=6)
    run_partition("tiny", scenario, range(1), tmp_path, data_root=Path("data"))
    block = Block("tiny", scenario, range(1), tmp_path / "partition.parquet", Path("data"), threads=1)
    found = atlas_rows(block, [0], [5, 1]).set_index("client").sort_index()
    engine = block.engine()
    wanted = alpha_rows(block, Lineage.of(engine, train_from(engine, scenario, Keys.of([0]))))
    wanted = wanted[(wanted["round"] == wanted["round"].max()) & (wanted["request"] == 0)].set_index("client")
    for column in ("alpha", "psi_published", "psi_strict"):
        assert found[column].to_numpy() == pytest.approx(wanted.loc[[1, 5], column].to_numpy(), rel=1e-4)
    assert (found["alpha"] <= found["psi_strict"] * (1 + 1e-6)).all()


def test_means_are_of_seeds_that_stay_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training without the client diverges in the second of three seeds; the other two are as without it."""
    scenario = build(Scenario, TINY, "tiny")
    run_partition("tiny", scenario, range(1), tmp_path, data_root=Path("data"))
    block = Block("tiny", scenario, range(1), tmp_path / "partition.parquet", Path("data"), threads=1)
    caches = []

    def broken(lineage: Lineage, mask: torch.Tensor, progress: Progress) -> torch.Tensor:
        caches.append(lineage.cache)
        phi = without(lineage, mask)
        return phi.index_fill(0, torch.tensor([1]), torch.nan) if len(phi) == 3 else phi

    monkeypatch.setattr("sifu.stages.atlas.without", broken)
    found = atlas_rows(block, range(3), [4, 5])
    wanted = atlas_rows(block, [0, 2], [4, 5])
    assert found["seed"].tolist() == [0, 2, 0, 2]
    numbers = [one.drop(columns="scenario").to_numpy(float) for one in (found, wanted)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-4)
    assert len(set(map(id, caches))) == 4, "what one client leaves in a cache is not kept for the next"


def test_from_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    usual = ["atlas", "--config", str(REPO / "config" / "smoke.yaml"), "--seeds", "2", "--device", "cpu"]
    assert main([*usual, "--clients", "99"]) == 2
    assert "--clients: 99 is refused; allowed: numbers from 0 to 19" in capsys.readouterr().err
    assert main([*usual, "--clients", "0", "--csv", str(tmp_path / "atlas.csv")]) == 0
    head, row = (tmp_path / "atlas.csv").read_text().splitlines()
    assert head == "client,seeds,memorisation,deviation,accuracy_drop,alpha,psi_published,psi_strict"
    assert row.startswith("0,2,")


def test_blocks_of_clients_are_jobs_with_a_stamp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Clients 0 to 2 and 3 to 5 apart are all six at once; each table says how many models it took."""
    (tmp_path / "scenarios.yaml").write_text(yaml.safe_dump({"tiny": TINY}))
    results = tmp_path / "results"
    usual = ["--scenario", "tiny", "--config", str(tmp_path), "--results", str(results)]
    assert main(["partition", "--block", "s000-000", *usual]) == 0
    more = ["--block", "s000-001", "--federation", "s000-000", "--device", "cpu", "--threads", "1", *usual]
    for clients in ("c000-002", "c003-005"):
        assert main(["atlas_block", "--clients", clients, *more]) == 0
    paths = [results / "atlas" / "tiny" / part / "s000-001" / "atlas.parquet" for part in ("c000-002", "c003-005")]
    found = read_tables(paths, ATLAS)
    assert found[["client", "seed"]].to_numpy().tolist() == [[client, seed] for client in range(6) for seed in (0, 1)]
    partition = results / "partition" / "tiny" / "s000-000" / "partition.parquet"
    block = Block("tiny", build(Scenario, TINY, "tiny"), range(1), partition, Path("data"), threads=1)
    wanted = atlas_rows(block, range(2))
    assert found["memorisation"].to_numpy() == pytest.approx(wanted["memorisation"].to_numpy(), abs=5e-3)
    assert json.loads(read_stamp(paths[0])["notes"])["models"] == 8, "of two seeds, with everyone and without each"
    capsys.readouterr()
    for wrong, words in (("c004-006", "6 is refused; allowed: numbers from 0 to 5"), ("s000-001", "like c000-009")):
        assert main(["atlas_block", "--clients", wrong, *more]) == 2
        assert words in capsys.readouterr().err
