"""The atlas: a client's memorisation is what its own margins lose without it, and alpha is that of its own stage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sifu.certificate.alpha import measure_alpha
from sifu.cli.main import main
from sifu.config.fields import build
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.first_training import train_from
from sifu.federation.stop import Stop
from sifu.forgetting.margin import margin
from sifu.stages.atlas import COLUMNS, atlas_rows
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.unlearning.counterfactual import without
from sifu.unlearning.lineage import Lineage
from tests.conftest import REPO
from tests.unit.stages.test_oracles import TINY


def test_what_is_lost_without_a_client(tmp_path: Path) -> None:
    """Seeds one by one, by the engine of the other stages; the atlas trains all of them at once."""
    scenario = build(Scenario, TINY, "tiny")
    run_partition("tiny", scenario, range(1), tmp_path, data_root=Path("data"))
    block = Block("tiny", scenario, range(1), tmp_path / "partition.parquet", Path("data"), threads=1)
    (row,) = atlas_rows(block, range(3), [4]).to_dict("records")
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
    assert row["psi"] > 0


def test_means_are_of_seeds_that_stay_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training without the client diverges in the second of three seeds; the other two are as without it."""
    scenario = build(Scenario, TINY, "tiny")
    run_partition("tiny", scenario, range(1), tmp_path, data_root=Path("data"))
    block = Block("tiny", scenario, range(1), tmp_path / "partition.parquet", Path("data"), threads=1)
    caches = []

    def broken(lineage: Lineage, mask: torch.Tensor) -> torch.Tensor:
        caches.append(lineage.cache)
        phi = without(lineage, mask)
        return phi.index_fill(0, torch.tensor([1]), torch.nan) if len(phi) == 3 else phi

    monkeypatch.setattr("sifu.stages.atlas.without", broken)
    found = atlas_rows(block, range(3), [4, 5])
    wanted = atlas_rows(block, [0, 2], [4, 5])
    assert found["seeds"].tolist() == [2, 2]
    assert found.to_numpy() == pytest.approx(wanted.to_numpy(), rel=1e-4)
    assert len(set(map(id, caches))) == 4, "what one client leaves in a cache is not kept for the next"


def test_from_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    usual = ["atlas", "--config", str(REPO / "config" / "smoke.yaml"), "--seeds", "2", "--device", "cpu"]
    assert main([*usual, "--clients", "99"]) == 2
    assert "--clients: 99 is refused; allowed: numbers from 0 to 19" in capsys.readouterr().err
    assert main([*usual, "--clients", "0", "--csv", str(tmp_path / "atlas.csv")]) == 0
    assert (tmp_path / "atlas.csv").read_text().splitlines()[0] == ",".join(COLUMNS)
