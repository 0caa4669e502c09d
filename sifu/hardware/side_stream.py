"""Work on a second CUDA stream, next to the main work of a GPU: started now, fetched later."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor


class SideStream:
    """Runs functions on a second CUDA stream. On the CPU they run at once."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def run(self, function: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Start `function`; the returned function waits for its result and returns it, on the CPU.

        `function` runs after all work that the device has been given until now. What it reads must not be changed
        before its result has been fetched.
        """
        if self._device.type == "cpu":
            result = function()
            return lambda: result
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            result = function()
            on_host = torch.empty(result.shape, dtype=result.dtype, pin_memory=True).copy_(result, non_blocking=True)
            done = self._stream.record_event()

        def wait(
            _: object = function,
        ) -> Tensor:  # holds `function`: the memory that it reads must not be reused before
            done.synchronize()
            return on_host

        return wait

    @cached_property
    def _stream(self) -> torch.cuda.Stream:
        return torch.cuda.Stream(self._device)
