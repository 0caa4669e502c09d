"""Forgotten clients come back to many models: who does, from where on, and what is counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from sifu.core.keys import Keys
from sifu.federation.first_training import train_from
from sifu.federation.shared_data import SharedEngine
from sifu.stages.kept_margins import KeptMargins
from sifu.stages.oracles import Asked, Oracles
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.parquet import read_table
from sifu.store.provenance import provenance
from sifu.unlearning.lineage import Lineage
from tests.unit.stages.tiny_oracles import Made, tiny, tiny_oracles, worlds


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return tiny_oracles(tmp_path_factory)


def test_relearning_begins_where_a_model_stands_and_is_counted_apart(made: Made) -> None:
    """The original knows its clients at once; a round is 4 clients with 4 steps each; scratch needs at least one."""
    table = pq.read_table(made.file("oracles", "s000-011", "margins")).drop_columns("margins").to_pandas()
    twins, own = (table[table["world"] == world] for world in ("twin", "client"))
    assert twins["relearn_steps"].isna().all()
    steps = own[own["request"] == 1].groupby("variant")["relearn_steps"]
    assert steps.max()["original"] == 0
    assert set(own["relearn_steps"]) <= {0, 16, 32, 48}
    assert steps.mean()["scratch"] > 0
    rows = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING).set_index(
        ["variant", "request", "client"]
    )
    first = table[(table["variant"] == "scratch") & (table["request"] == 1) & (table["status"] == "done")]
    fewer = min(int((first["world"] == world).sum()) for world in ("client", "twin"))
    assert rows.loc[("scratch", 1, -1), "reached"] == fewer
    assert rows.loc[("original", 1, -1), "relearn"] == 0
    assert rows.loc[("scratch", 1, -1), "relearn"] == 1
    assert np.isnan(rows.loc[("scratch", 1, 2), "relearn"])


@pytest.mark.parametrize(("number", "back", "stay"), [(1, [2, 3], [0, 1, 4, 5]), (2, [0], [1, 4, 5])])
def test_who_rejoins_and_until_when(
    made: Made, monkeypatch: pytest.MonkeyPatch, number: int, back: list[int], stay: list[int]
) -> None:
    """The clients of the request come back, those that left before do not; until 5% below the original's accuracy."""
    both, asked = worlds(made, 1, 2), []

    def rejoin(*parts: Any) -> tuple[torch.Tensor, torch.Tensor]:
        asked.append(parts)
        return torch.tensor([7, 8]), torch.tensor([True, False])

    monkeypatch.setattr("sifu.stages.oracles.rejoin", rejoin)
    engine = SharedEngine.of(both.engine, 2)
    lineage = Lineage.of(engine, train_from(engine, tiny(made), Keys.of(range(2))))
    kept = KeptMargins(Path(), "", provenance("oracles", {}, "", "cpu"))
    block, wanted = replace(both.block, seeds=range(2)), Asked({}, (1, 2), 3)
    rows = Oracles(block, both, next(iter(both)), wanted, kept)._relearned(number, lineage, lineage.current + 1)
    assert rows == [{"relearn_steps": 7, "relearned": True}, {"relearn_steps": 8, "relearned": False}]
    ((_, weights, clients, remain, target, _, rounds),) = asked
    assert torch.equal(weights, lineage.current + 1)
    assert [mask.nonzero().flatten().tolist() for mask in (clients[0], remain[1])] == [back, stay]
    assert rounds == 3
    data, found = both.engine.clients, []
    for seed in range(2):
        said = both.engine.model.logits(lineage.current[seed], data.images[0, back].flatten(0, 1)).argmax(1)
        found.append(float((said == data.labels[0, back].flatten()).double().mean()) - 0.05)
    assert target.tolist() == pytest.approx(found)
