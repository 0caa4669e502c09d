"""`python -m sifu`: see sifu/cli."""

from __future__ import annotations

import os
import sys

from sifu.cli import warm
from sifu.hardware.gpu_room import AGAIN


def main() -> int:
    """Run a command; a job that had to wait for the GPU's memory is started again, as a new process."""
    code = _run()
    if code == AGAIN:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    return code


def _run() -> int:
    """Run a command: by the warm process where there is one, else here."""
    code = warm.hand_over(sys.argv[1:]) if warm.VARIABLE in os.environ else None
    if code is not None:
        return code
    from sifu.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
