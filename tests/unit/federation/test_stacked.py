"""A round of local training by the GPU's kernels for whole networks, compared with plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.local import stacked, vmapped
from sifu.federation.local.batches import Batcher
from sifu.federation.local.stacked import StackedTrainer
from sifu.federation.local.vmapped import VmappedTrainer
from sifu.models.flat import FlatModel
from tests.conftest import tiny_federation
from tests.kernels import DEVICE, KERNELS, SmallCnn

pytestmark = KERNELS
COHORT = torch.tensor([[2, 0], [1, -1]])
# an absent client has no gradient, but would decay
FEDERATION = tiny_federation(local_steps=2, batch_size=2, momentum=0.9, weight_decay=0.1)


def small_clients() -> Clients:
    """Two seeds; the third client has fewer examples than a batch."""
    generator = torch.Generator().manual_seed(5)
    images = torch.randn(2, 3, 6, 1, 8, 8, generator=generator)
    labels = torch.randint(10, (2, 3, 6), generator=generator)
    return Clients(images, labels, torch.tensor([6, 5, 1]).expand(2, -1).clone()).to(torch.device(DEVICE))


def small_model(dropout: float) -> FlatModel:
    """Without dropout with kernels that do not take `masks`. Pooled once: a fourth of the interpreter's time."""
    kernels = "sifu.models.stacked:StackedCnn" if dropout else "tests.kernels:WithoutMasks"
    return FlatModel(SmallCnn(8, 10, 32, last_pool=1, dropout=dropout).to(DEVICE), kernels)


def updates(trainer: type[StackedTrainer | VmappedTrainer], dropout: float) -> Tensor:
    """What a round changes in the weights of two seeds. [2, 2, P]"""
    model, clients = small_model(dropout), small_clients()
    keys, rounds, cohort = Keys.of(range(2), DEVICE), torch.tensor([4, 9]).to(DEVICE), COHORT.to(DEVICE)
    size = clients.size.gather(1, cohort.clamp(min=0)).where(cohort >= 0, 0)
    batches = Batcher.of(clients, FEDERATION, draws_masks=dropout > 0).draw(keys, rounds, cohort, size)
    start = model.init(keys)
    trained = trainer(model, clients, FEDERATION)(start, torch.arange(2).to(DEVICE), cohort, batches)
    return trained - start.unsqueeze(1)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_round_is_that_of_plain_torch(dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """float32's rounding: 1e-6 of an update."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(vmapped, "kernels_fit", lambda _: False)
    ours, plain = updates(StackedTrainer, dropout), updates(VmappedTrainer, dropout)
    present, length = COHORT.to(DEVICE) >= 0, plain.norm(dim=-1)
    assert not ours[~present].any()
    assert (length[present] > 0.01).all()
    assert ((ours - plain).norm(dim=-1) <= 2e-6 * length).all()
    if dropout:
        apart = (ours - updates(VmappedTrainer, 0.0)).norm(dim=-1)
        assert (apart[present] > 0.1 * length[present]).all(), "masks count"


def test_kernels_that_do_not_know_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are left out where the model has any."""
    monkeypatch.setattr(stacked, "kernels_fit", lambda _: True)
    clients = small_clients()
    assert StackedTrainer.fits(small_model(0.0), clients)
    assert StackedTrainer.fits(small_model(0.4), clients)
    assert not StackedTrainer.fits(FlatModel(small_model(0.4).module, "tests.kernels:WithoutMasks"), clients)
