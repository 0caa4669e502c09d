"""The files of `snakemake --configfile`, read before Snakemake does, which ends with a traceback where one is missing.

profiles/default calls this: Snakemake reads its profile first, and the Snakefile only after the config files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sifu.config.yaml_file import read_yaml
from sifu.errors import SifuError


def check_config_files(arguments: Sequence[str] | None = None) -> None:
    """End with one sentence if a config file on Snakemake's command line cannot be read."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
    try:
        for path in parser.parse_known_args(arguments)[0].configfile:
            read_yaml(path)
    except SifuError as error:
        sys.exit(f"error: {error}")
