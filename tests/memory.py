"""How much memory a piece of a test takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@contextmanager
def bounded_memory(megabytes: float) -> Iterator[None]:
    """The process may grow by at most so many megabytes, at any moment; not measured where Linux does not say it."""
    try:
        _RESET.write_text("5")  # the peak so far is forgotten
    except OSError:
        yield
        return
    before = _kilobytes("VmRSS")
    yield
    grown = (_kilobytes("VmHWM") - before) / 1024
    assert grown < megabytes, f"{grown:.0f} MB"


def _kilobytes(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", _STATUS.read_text())
    assert found is not None
    return int(found[1])
