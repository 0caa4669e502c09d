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

    def __init__(self, function: Callable[[], None], device: torch.device, *, records: bool = True) -> None:
        self._function = function
        self._calls: Counter[int] = Counter()  # by thread: each has library handles of its own to make
        self._records = records and device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self._graph is None and self._records and self._calls[get_ident()] >= _WARM_UP:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=_pool()):
                self._function()
            self._graph = graph
        if self._graph is not None:
            self._graph.replay()
            return
        self._function()
        self._calls[get_ident()] += 1


@cache
def _pool() -> Any:
    """Memory of all recordings: they run one after another, and what one of them gives is copied at once.

    A pool ends with its last recording, and its handle with it: one that is never let go keeps it.
    """
    handle, keeper = torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(keeper, pool=handle):
        torch.zeros(1, device="cuda")
    _KEEPERS.append(keeper)
    return handle


class Recorded:
    """A method from tensors to tensors, recorded once for each shape of its arguments. Results are the caller's own."""

    def __init__(self, function: Callable[..., tuple[Tensor, ...]], kept: int = 8) -> None:
        self._method = WeakMethod(function)  # of an object that holds this one: a cycle would keep its data alive
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

            self._kept[key] = given, results, Recording(fill, tensors[0].device)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _call(method: WeakMethod[Any], *tensors: Tensor, **options: Hashable) -> tuple[Tensor, ...]:
    found = method()
    assert found is not None  # whoever calls holds the object
    return found(*tensors, **options)
