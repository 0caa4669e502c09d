"""The commands that keep the suite itself in order: benchmark and generated pages."""

from __future__ import annotations

import argparse
from pathlib import Path

from sifu.cli.commands import UPKEEP, Commands
from sifu.config.run import PRECISIONS
from sifu.config.shipped import config_file
from sifu.errors import ConfigError
from sifu.plan.load import default_data_root


def add_upkeep(commands: Commands) -> None:
    _add_bench(commands)
    _add_docs(commands)
    _add_site(commands)


def _add_bench(commands: Commands) -> None:
    parser = commands.add(UPKEEP, "bench", "Time the engine against the plain loop.", _bench)
    parser.add_argument("--json", action="store_true", help="print a list of rows instead of a table")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of both (default: %(default)s)")
    parser.add_argument("--precision", choices=PRECISIONS, default="tf32", help="of a GPU (default: %(default)s)")
    parser.add_argument("--scenarios", nargs="*", default=["mnist", "cifar10"], help="default: mnist cifar10")
    parser.add_argument("--models", nargs="*", default=[], help="in place of the scenario's own")
    parser.add_argument("--by-layer", action="store_true", help="without a network's own kernels, as one that has none")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 5], help="block sizes (default: 1 5)")
    parser.add_argument(
        "--rounds", type=int, help="rounds a measurement, of the plain loop, too (default: about half a second of them)"
    )
    parser.add_argument("--train", nargs="*", default=[], help="scenarios to train to their target, on real data")
    parser.add_argument("--parity", action="store_true", help="compare weights with double precision on the CPU, too")
    words = "also time the parts of a run: evaluation, replay, what certificates need; on a GPU with their kernels"
    parser.add_argument("--parts", action="store_true", help=words)
    parser.add_argument("--plan", nargs="*", type=int, default=[500], help="cells of plans to make (default: 500)")
    parser.add_argument("--data-root", type=Path, help="folder of the datasets; default: SIFU_DATA_ROOT, else data")


def _add_docs(commands: Commands) -> None:
    text = "Write the generated pages, and the generated parts of the others."
    parser = commands.add(UPKEEP, "docs", text, _docs)
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: this folder)")


def _add_site(commands: Commands) -> None:
    text = "Write the report, its tables and figures, and the docs as static files, ready for GitHub Pages."
    parser = commands.add(UPKEEP, "site", text, _site)
    words = "whose report is published (default: %(default)s)"
    parser.add_argument("--config", type=Path, default=config_file("paper.yaml"), help=words)
    parser.add_argument("--out", type=Path, default=Path("site"), help="folder to write anew (default: %(default)s)")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: this folder)")


def _bench(parsed: argparse.Namespace) -> None:
    from sifu.bench.report import Bench, print_bench

    counts = (
        [("--seeds", seeds) for seeds in parsed.seeds]
        + [("--plan", cells) for cells in parsed.plan]
        + [
            ("--threads", parsed.threads),
            ("--rounds", parsed.rounds),
        ]
    )
    for option, value in counts:
        if value is not None and value < 1:
            raise ConfigError(option, value, "1 or more")
    bench = Bench(
        parsed.scenarios,
        parsed.seeds,
        parsed.device,
        parsed.precision,
        parsed.threads,
        parsed.rounds,
        parsed.train,
        parsed.parity,
        parsed.data_root or default_data_root(None),
        parsed.models,
        parsed.by_layer,
        parsed.plan,
        parsed.parts,
    )
    print_bench(bench, as_json=parsed.json)


def _docs(parsed: argparse.Namespace) -> None:
    from sifu.docs.pages import write_docs

    write_docs(parsed.root)


def _site(parsed: argparse.Namespace) -> None:
    from sifu.docs.site import write_site

    files = write_site(parsed.config, parsed.out, parsed.root)
    print(f"wrote {files} files; open {parsed.out / 'index.html'}")
