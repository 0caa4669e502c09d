"""`python -m sifu.flower STORE`: checks the log of a store and prints it. Needs neither Flower nor torch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sifu.errors import SifuError
from sifu.flower.audit import lines, verify


def main(arguments: list[str] | None = None) -> int:
    """Check a log; 0: it is whole, 2: one sentence says what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m sifu.flower", description="Check the log of a store and print it.")
    parser.add_argument("store", type=Path, help="the folder that was given to Unlearning(store=...)")
    parser.add_argument("--head", help="a digest that was noted before: the log must still have that line")
    parsed = parser.parse_args(arguments)
    try:
        log, history = verify(parsed.store, parsed.head)
    except (SifuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in lines(log):
        print(line)
    if not log.is_whole or not history.is_whole:
        print("a process was killed while it wrote a line; nothing had been done about it yet")
    print(f"whole: {len(log.entries)} lines, last {log.head}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
