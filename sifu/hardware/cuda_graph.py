"""CUDA graphs: a round is some hundred small kernels, which a GPU finishes faster than Python can ask for them."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from functools import cache
from threading import get_ident
from typing import Any
from weakref import WeakMethod

import torch
from torch import Tensor

_WARM_UP = 2  # plain calls before the recording: what is made once (workspaces, compiled kernels) is made in them

_KEEPERS: list[torch.cuda.CUDAGraph] = []


class Recording:
    """A function that changes tensors in place, always the same ones; after some calls on a GPU it is played back.

    On the CPU, and for a function that waits for the device (`records` is False), it is called plainly.
    """

    def __init__(
        self, function: Callable[[], None], device: torch.device, *, records: bool = True, pool: str = "rounds"
    ) -> None:
        self._function, self._pool = function, pool
        self._calls: Counter[int] = Counter()  # by thread: each has library handles of its own to make
        self._records = records and device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self._graph is None and self._records and self._calls[get_ident()] >= _WARM_UP:
            self._graph = _record(self._function, *_pool(self._pool))
        if self._graph is not None:
            self._graph.replay()
            return
        self._function()
        self._calls[get_ident()] += 1


def _record(function: Callable[[], None], pool: Any, stream: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
    """As `torch.cuda.graph`, which also gives all spare memory back: getting it again takes longer than recording."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        graph.capture_begin(pool=pool)
        try:
            function()
        finally:
            graph.capture_end()
    return graph


@cache
def _pool(name: str) -> tuple[Any, torch.cuda.Stream]:  # the name keeps pools apart
    """Memory of the recordings of a name, which run one after another, and what one of them gives is copied at once;
    and the stream that they are recorded on: memory is used again only by what is recorded on the same one.

    What runs beside others (looks, beside rounds) must have a name of its own.

    A pool ends with its last recording, and its handle with it: one that is never let go keeps it.
    """
    handle, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
    _KEEPERS.append(_record(_take_memory, handle, stream))
    return handle, stream


def _take_memory() -> None:
    torch.zeros(1, device="cuda")


class Recorded:
    """A method from tensors to tensors, recorded once for each shape of its arguments. Results are the caller's own."""

    def __init__(self, function: Callable[..., tuple[Tensor, ...]], kept: int = 8, pool: str = "rounds") -> None:
        self._method = WeakMethod(function)  # of an object that holds this one: a cycle would keep its data alive
        self._pool = pool
        self._most = kept  # recordings of other shapes than the last few are let go
        self._kept: OrderedDict[Hashable, tuple[list[Tensor], list[Tensor], Recording]] = OrderedDict()

    def __call__(self, *tensors: Tensor, **options: Hashable) -> tuple[Tensor, ...]:
        if tensors[0].device.type != "cuda" or torch.cuda.is_current_stream_capturing():
            return _call(self._method, *tensors, **options)
        given, results, recording = self._find(tensors, options)
        for place, tensor in zip(given, tensors, strict=True):
            place.copy_(tensor)
        recording()
        return tuple(result.clone() for result in results)

    def _find(
        self, tensors: tuple[Tensor, ...], options: dict[str, Hashable]
    ) -> tuple[list[Tensor], list[Tensor], Recording]:
        key = (*((tensor.shape, tensor.dtype) for tensor in tensors), *sorted(options.items()))
        if key not in self._kept:
            given, results, method = [tensor.clone() for tensor in tensors], list[Tensor](), self._method

            def fill() -> None:
                results[:] = _call(method, *given, **options)

            self._kept[key] = given, results, Recording(fill, tensors[0].device, pool=self._pool)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _call(method: WeakMethod[Any], *tensors: Tensor, **options: Hashable) -> tuple[Tensor, ...]:
    found = method()
    assert found is not None  # whoever calls holds the object
    return found(*tensors, **options)
