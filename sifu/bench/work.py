"""The cost of a round by arithmetic: operations of the plain loop, and bytes that must move in any case."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from sifu.catalog.datasets import DATASETS
from sifu.config.scenario import Scenario
from sifu.models.flat import FlatModel


class RoundWork(NamedTuple):
    """The operations and bytes of one round of one seed."""

    flops: int  # matrix products and convolutions of the plain loop, forward and backward
    bytes: int  # each client's examples once, its weights once in and once out


def round_work(scenario: Scenario, model: FlatModel, examples: int) -> RoundWork:
    """The work of one round; each client has `examples` examples."""
    federation, spec = scenario.federation, DATASETS[scenario.dataset.name]
    batch = min(federation.batch_size, examples)
    step = _step_flops(model, torch.zeros(batch, *spec.shape))
    pixels = spec.shape[0] * spec.shape[1] * spec.shape[2]
    seen = min(examples, federation.local_steps * batch)
    moved = 4 * (seen * pixels + 2 * model.num_weights)
    clients = federation.clients_per_round
    return RoundWork(clients * federation.local_steps * step, clients * moved)


def _step_flops(model: FlatModel, images: torch.Tensor) -> int:
    weights = {
        name: torch.zeros(shape, requires_grad=True) for name, shape in zip(model.names, model.shapes, strict=True)
    }
    with FlopCounterMode(display=False) as counter:
        logits = functional_call(model.module.to("cpu"), weights, (images,))
        cross_entropy(logits, torch.zeros(len(images), dtype=torch.int64)).backward()
    return counter.get_total_flops()
