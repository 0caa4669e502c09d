"""The commands of the replication: what is missing, parts of it, its manifest, and cells of it run again."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from sifu.cli.commands import REPLICATION, Commands
from sifu.config.fields import build
from sifu.config.run import PRECISIONS, Run
from sifu.config.scenario import Scenario
from sifu.config.shipped import config_file
from sifu.errors import ConfigError
from sifu.plan.load import default_data_root, load_suite, read_named, read_yaml
from sifu.plan.part import is_chosen, scratch_of
from sifu.store.paths import manifest_file, stage_folder

_PAPER = config_file("paper.yaml")


def add_replication(commands: Commands) -> None:
    text = "Write the manifest of a run into its results: settings, commits, devices and the time of every job."
    parser = commands.add(REPLICATION, "manifest", text, _manifest)
    parser.add_argument("--config", type=Path, default=_PAPER, help="what was run (default: %(default)s)")
    text = "Write the tables of a run as few files, one a table and dataset, which git keeps."
    parser = commands.add(REPLICATION, "pack-results", text, _pack)
    parser.add_argument("--config", type=Path, default=_PAPER, help="what was run (default: %(default)s)")
    text = "Write a run's own files of the packed ones that git keeps. Reports, pages and checks do it for themselves."
    parser = commands.add(REPLICATION, "unpack-results", text, _unpack)
    parser.add_argument("--config", type=Path, default=_PAPER, help="what was run (default: %(default)s)")
    text = (
        "Fill in what certificates of budgets are worth, in tables from before `unlearn` did it, without a replay: a "
        "row gets the target's numbers where both are about the same model. `pack-results` then packs them."
    )
    parser = commands.add(REPLICATION, "fill-certificates", text, _fill)
    parser.add_argument("--config", type=Path, default=_PAPER, help="what was run (default: %(default)s)")
    text = "List planned tables that are still missing, for the datasets that are on this machine."
    parser = commands.add(REPLICATION, "missing", text, _missing)
    parser.add_argument("--config", type=Path, default=_PAPER, help="what is planned (default: %(default)s)")
    parser.add_argument("--scenario", nargs="+", help="only of these scenarios (default: all)")
    words = "only blocks that begin with one of the first so many seeds; searches have seeds of their own: all of them"
    parser.add_argument("--seeds", type=int, help=words)
    words = "also name scratch, where methods of a verified block are missing: they are compared with it"
    parser.add_argument("--with-scratch", action="store_true", help=words)
    text = "Merge results from another machine: copy missing tables, and add its methods to tables of `verify` and "
    text += "`forgetting` that exist."
    parser = commands.add(REPLICATION, "add-part", text, _add_part)
    parser.add_argument("folder", type=Path, help="of the part: the checkout or the results folder in it")
    parser.add_argument("--config", type=Path, default=_PAPER, help="what was run (default: %(default)s)")
    text = "Write the margins of a run's oracles as a dataset folder: tables, README, data card (Croissant), checksums."
    parser = commands.add(REPLICATION, "dataset", text, _dataset)
    parser.add_argument("--config", type=Path, default=_PAPER, help="what was run (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="folder to write to (default: `dataset` in the run's results)")
    parser.add_argument("--url", help="where it will be published, for the data card")
    parser.add_argument("--scenario", nargs="+", help="only these of the oracles' scenarios (default: all)")
    _add_verify(commands)


def _add_verify(commands: Commands) -> None:
    text = "Run a random sample of stored cells again, and say how well they agree; exit code 1 where one differs."
    parser = commands.add(REPLICATION, "verify-paper", text, _verify)
    parser.add_argument("--config", type=Path, default=_PAPER, help="what was run (default: %(default)s)")
    parser.add_argument("--results", type=Path, help="folder of the stored cells (default: that of the config)")
    words = "scenario/variant/seed, to the target, or scenario/variant/seed/stop (budget_25): this one, no sample"
    parser.add_argument("--cell", action="append", default=[], help=words)
    parser.add_argument("--cells", type=int, default=5, help="size of the sample (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=10.0, help="on this device, roughly (default: %(default)s)")
    parser.add_argument(
        "--sample-seed", type=int, default=0, help="seed of the random sample of cells (default: %(default)s)"
    )
    words = "which are run: the cell's own, or all of its block, as they were stored; default: auto, on a GPU the block"
    parser.add_argument("--seeds", choices=("auto", "own", "block"), default="auto", help=words)
    parser.add_argument("--data-root", type=Path, help="folder of the datasets; default: SIFU_DATA_ROOT, else data")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: %(default)s)")
    parser.add_argument("--precision", choices=PRECISIONS, default="tf32", help="of a GPU (default: %(default)s)")


def _manifest(parsed: argparse.Namespace) -> None:
    from sifu.replication.manifest import write_manifest

    print(f"wrote {write_manifest(parsed.config)}")


def _pack(parsed: argparse.Namespace) -> None:
    from sifu.report.packed import pack

    run = build(Run, read_yaml(parsed.config), "")
    scenarios = read_named(Scenario, parsed.config.parent / "scenarios.yaml", "scenarios")
    for path in pack(Path(run.results), {name: scenarios[name].dataset.name for name in run.scenarios}):
        print(f"wrote {path}")


def _unpack(parsed: argparse.Namespace) -> None:
    from sifu.report.packed import unpack

    unpack(Path(build(Run, read_yaml(parsed.config), "").results))


def _fill(parsed: argparse.Namespace) -> None:
    from sifu.replication.fill_certificates import fill_certificates

    filled = fill_certificates(Path(build(Run, read_yaml(parsed.config), "").results))
    print(f"filled {sum(filled.values()):,} rows in {len(filled)} tables")


def _missing(parsed: argparse.Namespace) -> None:
    from sifu.replication.joined_rows import lacking
    from sifu.replication.published import changes, read_manifest
    from sifu.report.results import Results

    suite = load_suite(read_yaml(parsed.config), parsed.config.parent)
    results = Path(suite.run.results)
    if parsed.seeds is not None and parsed.seeds < 1:
        raise ConfigError("--seeds", parsed.seeds, "1 or more")
    if unknown := [name for name in parsed.scenario or () if name not in suite.run.scenarios]:
        raise ConfigError("--scenario", unknown[0], f"one of {', '.join(suite.run.scenarios)}")
    for reason in suite.skipped_words():
        print(reason, file=sys.stderr)
    if manifest_file(results).exists():
        for change in changes(read_manifest(results), parsed.config):
            print(f"stored results are of other settings, and not named below: {change}", file=sys.stderr)
    reported = range(suite.run.first_seed, suite.run.first_seed + suite.run.num_seeds)
    every = Results(suite.report_plan()).all_missing()
    missing = [path for path in every if is_chosen(path, results, reported, parsed.scenario, parsed.seeds)]
    for words in lacking(suite, parsed.scenario):
        print(words, file=sys.stderr)
    for path in missing + (scratch_of(missing, results) if parsed.with_scratch else []):
        print(path)


def _add_part(parsed: argparse.Namespace) -> None:
    from sifu.replication.add_part import add_part

    run = build(Run, read_yaml(parsed.config), "")
    results = Path(run.results)
    inside = parsed.folder / results
    added = add_part(inside if inside.is_dir() else parsed.folder, results, run.scenarios)
    print(f"{results} has {added.files} new files")
    for block, variants in added.methods.items():
        print(f"{block} has also {', '.join(variants)}")


def _dataset(parsed: argparse.Namespace) -> None:
    from sifu.replication.dataset.margins import write_dataset

    suite = load_suite(read_yaml(parsed.config), parsed.config.parent, reports=True)
    results = Path(suite.run.results)
    if not suite.jobs["oracles"]:
        raise ConfigError("oracles", None, f"planned by {parsed.config}: it measures no forgetting by many models")
    blocks: dict[str, list[Path]] = {}
    for job in suite.jobs["oracles"]:
        blocks.setdefault(job.scenario, []).append(stage_folder(results, "oracles", job.scenario, job.block))
    chosen = parsed.scenario or list(blocks)
    if unknown := [name for name in chosen if name not in blocks]:
        raise ConfigError("--scenario", unknown[0], f"one of {', '.join(blocks)}")
    folder = parsed.out or results / "dataset"
    command, today = f"make run CONFIG={parsed.config}", date.today().isoformat()
    for file in write_dataset(folder, {name: blocks[name] for name in chosen}, command, today, parsed.url):
        print(f"wrote {folder / file.path} ({file.size:,} bytes)")


def _verify(parsed: argparse.Namespace) -> int:
    from sifu.replication.recheck.command import Chosen, recheck
    from sifu.replication.recheck.rerun import Machine

    for option, value in (("--cells", parsed.cells), ("--threads", parsed.threads)):
        if value < 1:
            raise ConfigError(option, value, "1 or more")
    if not parsed.minutes > 0:
        raise ConfigError("--minutes", parsed.minutes, "more than 0")
    run = build(Run, read_yaml(parsed.config), "")
    stored, data_root = parsed.results or Path(run.results), parsed.data_root or default_data_root(run)
    how = parsed.device, parsed.threads, parsed.precision, parsed.seeds
    machine = Machine(parsed.config.parent, stored, data_root, *how, as_stored=True)
    return recheck(Chosen(parsed.cell, parsed.cells, parsed.minutes, parsed.sample_seed), machine)
