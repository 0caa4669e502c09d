"""Work beside the main work of a GPU: begun now, asked for later."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor


class Aside:
    """Runs functions on a stream of their own. On the CPU they are run at once."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def run(self, function: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Begin; what is returned waits for the result and gives it, on the CPU.

        `function` sees all that was asked of the device until now; what it reads must not be changed before its result
        has been waited for.
        """
        if self._device.type == "cpu":
            result = function()
            return lambda: result
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            result = function()
            there = torch.empty(result.shape, dtype=result.dtype, pin_memory=True).copy_(result, non_blocking=True)
            done = self._stream.record_event()

        def wait(_: object = function) -> Tensor:  # held: memory that it reads must not be given to others meanwhile
            done.synchronize()
            return there

        return wait

    @cached_property
    def _stream(self) -> torch.cuda.Stream:
        return torch.cuda.Stream(self._device)
