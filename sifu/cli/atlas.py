"""`python -m sifu atlas`: every client of a federation left out in turn; what the training remembers of each."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sifu.cli.audit import nothing_else, refuse_seed, seed_block
from sifu.cli.commands import REPORTS, Commands
from sifu.config.shipped import config_file
from sifu.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd


def add_atlas(commands: Commands) -> None:
    text = "Leave each client out in turn: what the training remembers of it, next to alpha and Psi."
    parser = commands.add(REPORTS, "atlas", text, _atlas)
    parser.add_argument("--config", type=Path, default=config_file("config.yaml"), help="default: %(default)s")
    parser.add_argument("--scenario", help="one of the config's (default: its first)")
    parser.add_argument("--seeds", type=int, default=10, help="trainings with and without each client (default: 10)")
    parser.add_argument("--clients", nargs="+", type=int, help="these alone (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="whose partition (default: %(default)s)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), help="default: the config's")
    parser.add_argument("--csv", type=Path, help="file to write a row a client to; rows of seeds: config key `atlas`")


def _atlas(parsed: argparse.Namespace) -> None:
    from sifu.plan.load import load_suite, read_yaml

    _refuse(parsed)
    raw = read_yaml(parsed.config)
    name = parsed.scenario or next(iter(raw.get("scenarios") or [""]))
    suite = load_suite(raw | {"scenarios": [name], "missing_data": "refuse"} | nothing_else(), parsed.config.parent)
    from sifu.report.atlas import by_client
    from sifu.stages.atlas import atlas_rows, refuse_unknown
    from sifu.store.parquet import write_text

    refuse_unknown(parsed.clients or (), suite.scenarios[name].partition.num_clients)
    with tempfile.TemporaryDirectory() as folder:
        block = seed_block(suite, name, parsed, Path(folder))
        rows = atlas_rows(block, range(parsed.seed, parsed.seed + parsed.seeds), parsed.clients)
    clients = by_client(rows).drop(columns="scenario")
    if parsed.csv:
        write_text(parsed.csv, clients.to_csv(index=False))
    _print(clients)


def _refuse(parsed: argparse.Namespace) -> None:
    """What is wrong with the options, before anything is trained."""
    if parsed.seeds < 1:
        raise ConfigError("--seeds", parsed.seeds, "1 or more")
    refuse_seed(parsed.seed)
    if parsed.csv and (not parsed.csv.parent.is_dir() or (parsed.csv.exists() and not parsed.csv.is_file())):
        raise ConfigError("--csv", str(parsed.csv), "a file in a folder that is there")


def _print(clients: pd.DataFrame) -> None:
    """A line a client, most remembered first, and how far alpha and Psi tell who that is."""
    from sifu.report.atlas import rank_correlations

    print(clients.sort_values("memorisation", ascending=False).to_string(index=False, float_format="{:.4g}".format))
    if ranks := rank_correlations(clients):
        words = ", ".join(f"{name} {value:.2f}" for name, value in ranks.items())
        print(f"rank correlation with memorisation: {words}")
    print("memorisation: mean margin on the client's own data, with it minus without it; deviation: over seeds")
