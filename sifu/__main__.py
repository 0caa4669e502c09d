"""The command line: one sub-command a stage. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sifu import __version__
from sifu.config import Run, block_seeds, default_data_root, load_scenario, read_yaml
from sifu.errors import ConfigError, SifuError
from sifu.paths import stage_folder
from sifu.scenario import Scenario
from sifu.settings import build


def main(arguments: list[str] | None = None) -> int:
    """Run a sub-command; bad input ends with one sentence on stderr and the exit code 2."""
    parsed = _parser().parse_args(arguments)
    try:
        parsed.command(parsed)
    except SifuError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # a folder that is a file, a full disk
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sifu", description="A benchmark suite for federated unlearning.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_partition(commands)
    _add_train(commands)
    _add_summary(commands)
    _add_bench(commands)
    _add_docs(commands)
    return parser


def _stage_parser(commands: argparse._SubParsersAction, name: str, text: str) -> argparse.ArgumentParser:  # type: ignore[type-arg]
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--scenario", required=True, help="name in scenarios.yaml")
    parser.add_argument("--block", required=True, help="seeds to do together, such as s000-009")
    parser.add_argument(
        "--scenarios", type=Path, default=Path("config/scenarios.yaml"), help="the file (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, help="folder to write to; default: results/STAGE/SCENARIO/BLOCK")
    parser.add_argument("--data-root", type=Path, help="folder of the datasets; default: SIFU_DATA_ROOT, else data")
    return parser


def _add_partition(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    parser = _stage_parser(commands, "partition", "Decide who holds which example.")
    parser.add_argument("--download", action="store_true", help="let torchvision download a missing dataset")
    parser.set_defaults(command=_partition)


def _add_train(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    parser = _stage_parser(commands, "train", "Train a federation and keep its history.")
    parser.add_argument(
        "--partition", type=Path, help="its partition.parquet; default: where the partition stage writes it"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: %(default)s)")
    parser.set_defaults(command=_train)


def _add_summary(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    parser = commands.add_parser("summary", help="Print what has been trained and what it cost.")
    parser.add_argument(
        "--config", type=Path, default=Path("config/config.yaml"), help="whose results (default: %(default)s)"
    )
    parser.set_defaults(command=_summary)


def _add_bench(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    parser = commands.add_parser("bench", help="Time the engine against the plain loop.")
    parser.add_argument("--json", action="store_true", help="print a list of rows instead of a table")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of both (default: %(default)s)")
    parser.add_argument("--scenarios", nargs="+", default=["mnist", "cifar10"], help="default: mnist cifar10")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 5], help="block sizes (default: 1 5)")
    parser.add_argument("--rounds", type=int, help="rounds a measurement (default: about half a second of them)")
    parser.set_defaults(command=_bench)


def _add_docs(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    parser = commands.add_parser("docs", help="Write the generated pages: config/README.md and docs/results.md.")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: this folder)")
    parser.set_defaults(command=_docs)


def _scenario(parsed: argparse.Namespace, *, download: bool = False) -> tuple[Scenario, Path]:
    """The scenario with its source resolved, and the folder of the datasets."""
    root = parsed.data_root or default_data_root(None)
    return load_scenario(parsed.scenarios, parsed.scenario, root, download=download), root


def _partition(parsed: argparse.Namespace) -> None:
    from sifu.stages.partition import run_partition

    scenario, root = _scenario(parsed, download=parsed.download)
    folder = parsed.out or stage_folder("results", "partition", parsed.scenario, parsed.block)
    run_partition(
        parsed.scenario, scenario, block_seeds(parsed.block), folder, data_root=root, download=parsed.download
    )


def _train(parsed: argparse.Namespace) -> None:
    from sifu.stages.train import run_train

    _at_least_one("--threads", parsed.threads)
    scenario, root = _scenario(parsed)
    folder = parsed.out or stage_folder("results", "train", parsed.scenario, parsed.block)
    partition = (
        parsed.partition or stage_folder("results", "partition", parsed.scenario, parsed.block) / "partition.parquet"
    )
    run_train(
        parsed.scenario,
        scenario,
        block_seeds(parsed.block),
        folder,
        partition=partition,
        data_root=root,
        device=parsed.device,
        threads=parsed.threads,
    )


def _at_least_one(option: str, *values: int) -> None:
    for value in values:
        if value < 1:
            raise ConfigError(option, value, "1 or more")


def _summary(parsed: argparse.Namespace) -> None:
    from sifu.summary import print_summary

    print_summary(build(Run, read_yaml(parsed.config), ""))


def _bench(parsed: argparse.Namespace) -> None:
    from sifu.bench import print_bench

    _at_least_one("--seeds", *parsed.seeds)
    _at_least_one("--threads", parsed.threads)
    _at_least_one("--rounds", 1 if parsed.rounds is None else parsed.rounds)
    print_bench(
        parsed.scenarios,
        parsed.seeds,
        device=parsed.device,
        threads=parsed.threads,
        rounds=parsed.rounds,
        as_json=parsed.json,
    )


def _docs(parsed: argparse.Namespace) -> None:
    from sifu.docs import write_docs

    write_docs(parsed.root)


if __name__ == "__main__":
    sys.exit(main())
