"""Snakemake that asks Slurm every second.

The plugin waits ten seconds longer each time that no job has ended, and has no setting for it. That is right for a
cluster with many users, but too slow for a test.
"""

from __future__ import annotations

import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

SECONDS = property(lambda self: 1, lambda self, value: None)

if __name__ == "__main__":
    RemoteExecutor.next_seconds_between_status_checks = SECONDS
    main(sys.argv[1:])
