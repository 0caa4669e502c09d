"""CUDA graphs. A round is some hundred small kernels, which a GPU finishes faster than Python can launch them."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from functools import cache
from threading import get_ident
from typing import Any
from weakref import WeakMethod

import torch
from torch import Tensor

_WARM_UP = 2  # plain calls before the recording: they create workspaces and compile kernels

_POOL_KEEPERS: list[torch.cuda.CUDAGraph] = []  # never freed, so that their memory pools stay valid


class Recording:
    """A function that changes always the same tensors in place. After some calls on a GPU it is recorded and replayed.

    On the CPU, and for a function that waits for the device (`records` is False), every call is a plain call.
    """

    def __init__(
        self, function: Callable[[], None], device: torch.device, *, records: bool = True, pool: str = "rounds"
    ) -> None:
        self._function, self._pool = function, pool
        self._calls: Counter[int] = Counter()  # by thread: each thread creates its own library handles
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
    """As `torch.cuda.graph`, but keeps spare memory: allocating it again would take longer than the recording."""
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
def _pool(name: str) -> tuple[Any, torch.cuda.Stream]:
    """The memory pool that all recordings of a name share, and the stream that they are recorded on.

    They can share memory because they run one after another and their results are copied at once; torch reuses memory
    only within one stream. Recordings that run at the same time (evaluations during rounds) need different names.

    A pool is freed with its last recording, so one tiny recording per pool is kept forever.
    """
    handle, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
    _POOL_KEEPERS.append(_record(_allocate, handle, stream))
    return handle, stream


def _allocate() -> None:
    torch.zeros(1, device="cuda")


class Recorded:
    """A method from tensors to tensors, recorded once for each shape of its arguments. Results are copies."""

    def __init__(self, function: Callable[..., tuple[Tensor, ...]], kept: int = 8, pool: str = "rounds") -> None:
        self._method = WeakMethod(function)  # its object holds this one: a reference cycle would keep the data alive
        self._pool = pool
        self._max_kept = kept  # recordings of the shapes used least recently are dropped
        self._kept: OrderedDict[Hashable, tuple[list[Tensor], list[Tensor], Recording]] = OrderedDict()

    def __call__(self, *tensors: Tensor, **options: Hashable) -> tuple[Tensor, ...]:
        if tensors[0].device.type != "cuda" or torch.cuda.is_current_stream_capturing():
            return _call(self._method, *tensors, **options)
        inputs, results, recording = self._find(tensors, options)
        for buffer, tensor in zip(inputs, tensors, strict=True):
            buffer.copy_(tensor)
        recording()
        return tuple(result.clone() for result in results)

    def _find(
        self, tensors: tuple[Tensor, ...], options: dict[str, Hashable]
    ) -> tuple[list[Tensor], list[Tensor], Recording]:
        key = (*((tensor.shape, tensor.dtype) for tensor in tensors), *sorted(options.items()))
        if key not in self._kept:
            inputs, results, method = [tensor.clone() for tensor in tensors], list[Tensor](), self._method

            def fill() -> None:
                results[:] = _call(method, *inputs, **options)

            self._kept[key] = inputs, results, Recording(fill, tensors[0].device, pool=self._pool)
            if len(self._kept) > self._max_kept:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _call(method: WeakMethod[Any], *tensors: Tensor, **options: Hashable) -> tuple[Tensor, ...]:
    function = method()
    assert function is not None  # the caller holds the object
    return function(*tensors, **options)
