"""A method's answer to one request, without those before it."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.contract.world import SCENARIO, World
from sifu.core.keys import Keys
from sifu.federation.stop import Stop
from sifu.unlearning.answer_check import checked_answer
from sifu.unlearning.history import History
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server


def unlearn(method: Method, lineage: Lineage, request: Request, server: Server, keys: Keys) -> Unlearned:
    """A method's answer to one request, as the sequence of requests asks for it."""
    return checked_answer(
        method, method.unlearn(History(lineage, method.keeps), request, server, keys), lineage, server
    )


def server_for(world: World, forget: Tensor, stop: Stop | None = None) -> tuple[Request, Server]:
    """A first request, and a server that recovers by `stop`; None: not at all."""
    available = world.lineage.segments[0].available
    request = Request(1, forget, available & ~forget)
    stop = stop or Stop(None, 0, torch.zeros(len(forget), dtype=torch.int64))
    return request, Server(world.lineage.engine, request, stop, SCENARIO)


def nobody(world: World) -> Tensor:
    """A request of no client. [S, C] bool"""
    return torch.zeros_like(world.lineage.segments[0].available)
