"""Many models that train on the same data: as with a copy for each of them."""

from __future__ import annotations

from dataclasses import replace

import torch

from sifu.contract.world import World
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.shared_data import SharedEngine
from sifu.federation.stop import Stop
from tests.conftest import tiny_clients, tiny_engine


def test_models_that_share_data_train_as_with_copies_of_it() -> None:
    clients, keys = tiny_clients(seeds=1), Keys.of([0, 1, 2])
    single = tiny_engine(clients=clients)
    parts = (clients.images, clients.labels, clients.size)
    copies = tiny_engine(clients=Clients(*(part.repeat(3, *[1] * (part.dim() - 1)) for part in parts)))
    start, everyone = single.model.init(keys), torch.ones(3, 4, dtype=torch.bool)
    stop = Stop(0.9, 0, torch.full((3,), 25))
    shared, apart = (engine.run(start, everyone, keys, stop) for engine in (SharedEngine.of(single, 3), copies))
    assert torch.equal(shared.rounds, apart.rounds)
    assert shared.evaluations == apart.evaluations
    torch.testing.assert_close(shared.final, apart.final, rtol=1e-4, atol=1e-5)
    replayed = SharedEngine.of(single, 3).replay(shared, shared.rounds - 1)
    torch.testing.assert_close(replayed, copies.replay(apart, apart.rounds - 1), rtol=1e-4, atol=1e-5)


def test_every_model_has_the_servers_own_examples() -> None:
    """Those of the first seed, as the clients' data are; a method that needs them is not refused."""
    engine = World.make().lineage.engine
    shared = SharedEngine.of(engine, 1).sized(5)
    assert shared.server_data is not None
    assert engine.server_data is not None
    assert shared.server_data.images.shape[0] == 5
    assert all(torch.equal(row, engine.server_data.images[0]) for row in shared.server_data.images)
    assert SharedEngine.of(replace(engine, server_data=None), 2).server_data is None
