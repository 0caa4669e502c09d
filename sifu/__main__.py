"""`python -m sifu`: see sifu/cli."""

from __future__ import annotations

import sys

from sifu.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
