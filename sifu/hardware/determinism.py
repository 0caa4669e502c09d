"""Algorithms of torch that give the same bits in every run, where it has them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when torch first multiplies matrices on a GPU


@contextmanager
def deterministic() -> Iterator[None]:
    """Within: only repeatable algorithms, where torch has one. Elsewhere they would slow down what needs none."""
    before, memory = torch.are_deterministic_algorithms_enabled(), cast(Any, torch.utils.deterministic)
    fill = memory.fill_uninitialized_memory
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    cudnn = torch.backends.cudnn.deterministic
    torch.use_deterministic_algorithms(True, warn_only=True)
    memory.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*does not have a deterministic implementation", UserWarning)
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)
        memory.fill_uninitialized_memory = fill
        torch.backends.cudnn.deterministic = cudnn
