"""`python -m sifu audit`: certificates of one scenario against many trainings; `audit-noise`: the noise alone."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sifu.cli.commands import CERTIFICATES, Commands
from sifu.config.shipped import config_file
from sifu.errors import ConfigError, SifuError

if TYPE_CHECKING:
    from sifu.config.scenario import Scenario
    from sifu.plan.suite import Suite
    from sifu.stages.audit_plan import AuditPlan
    from sifu.stages.block import Block
    from sifu.unlearning.method import Method


def add_audit(commands: Commands) -> None:
    _add_worlds(commands)
    _add_noise(commands)


def _add_worlds(commands: Commands) -> None:
    counted = "as claimed, counted strictly, measured, and proved by attacking many models"
    text = f"Compare each certificate's epsilon {counted}."
    parser = commands.add(CERTIFICATES, "audit", text, _audit)
    parser.add_argument("--config", type=Path, default=config_file("config.yaml"), help="default: %(default)s")
    parser.add_argument("--scenario", help="one of the config's (default: its first)")
    parser.add_argument("--variant", nargs="+", default=["sifu"], help="names in variants.yaml (default: sifu)")
    parser.add_argument("--models", type=int, default=100, help="counted in each world (default: %(default)s)")
    parser.add_argument("--request", nargs="+", type=int, default=[1], help="after which requests (default: 1)")
    parser.add_argument("--client", type=int, help="this client alone is forgotten, not those of a request")
    parser.add_argument("--seed", type=int, default=0, help="whose partition and initial model (default: %(default)s)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), help="default: the config's")


def _add_noise(commands: Commands) -> None:
    text = "Audit the noise alone: the epsilon that follows from draws of two noised models."
    parser = commands.add(CERTIFICATES, "audit-noise", text, _audit_noise)
    parser.add_argument("--epsilon", type=float, default=1.0, help="default: %(default)s")
    parser.add_argument("--delta", type=float, default=0.01, help="default: %(default)s")
    parser.add_argument("--noise", type=float, default=1.0, help="share of the noise that is really added (default: 1)")
    parser.add_argument("--draws", type=int, default=10_000, help="default: %(default)s")


def _audit_noise(parsed: argparse.Namespace) -> None:
    from sifu.certificate.noise_audit import print_noise_audit

    print_noise_audit(parsed.epsilon, parsed.delta, parsed.noise, parsed.draws)


def _audit(parsed: argparse.Namespace) -> None:
    from sifu.plan.load import load_suite, read_yaml

    _refuse(parsed)
    raw = read_yaml(parsed.config)
    name = parsed.scenario or next(iter(raw.get("scenarios") or [""]))
    suite = load_suite(raw | {"scenarios": [name], "missing_data": "refuse"} | nothing_else(), parsed.config.parent)
    from sifu.stages.audit import audit_rows
    from sifu.stages.audit_counts import StoredCounts

    methods = {variant: _method(suite, name, variant) for variant in parsed.variant}
    with tempfile.TemporaryDirectory() as folder:
        block = seed_block(suite, name, parsed, Path(folder))
        rows = audit_rows(block, _plan(block, methods, parsed), StoredCounts(None))
        _print_rows(rows, noised_in_rounds(methods, block.scenario))


def nothing_else() -> dict[str, Any]:
    """Parts of a config that name scenarios, left out."""
    return {"only": [], "shown": None, "setting_sweeps": [], "scenario_searches": []} | dict.fromkeys(
        ("sigma_sweep", "request_sets", "alpha_sweep", "audits", "oracles", "atlas")
    )


def _refuse(parsed: argparse.Namespace) -> None:
    if parsed.models < 20:
        raise ConfigError("--models", parsed.models, "20 or more")
    refuse_seed(parsed.seed)
    if len(set(parsed.variant)) < len(parsed.variant):
        raise ConfigError("--variant", parsed.variant, "each variant once")


def refuse_seed(seed: int) -> None:
    if seed < 0:
        raise ConfigError("--seed", seed, "0 or more")


def _method(suite: Suite, scenario: str, variant: str) -> Method:
    """The variant's method, with what its search has found in the config's results."""
    from sifu.plan.variants import method_of
    from sifu.stages.choice import chosen_values
    from sifu.store.paths import stage_folder

    if variant not in suite.all_variants:
        raise ConfigError("--variant", variant, f"one of {', '.join(suite.all_variants)}")
    found, chosen = suite.all_variants[variant], suite.scenarios[scenario]
    if found.search is None:
        return method_of(variant, found, chosen)
    folder = stage_folder(suite.run.results, "search", suite.searched_as(scenario), found.search.block, variant)
    if not (folder / "search.parquet").exists():
        raise SifuError(f"{variant} has a search that has not been run: {folder / 'search.parquet'} does not exist")
    return method_of(variant, found, chosen, chosen_values(folder / "search.parquet", found.search))


def seed_block(suite: Suite, name: str, parsed: argparse.Namespace, folder: Path) -> Block:
    """The seed's block, with a partition of its own in `folder`."""
    from sifu.plan.load import default_data_root
    from sifu.stages.block import Block
    from sifu.stages.partition import run_partition

    run, scenario, seeds = suite.run, suite.scenarios[name], range(parsed.seed, parsed.seed + 1)
    root = default_data_root(run)
    run_partition(name, scenario, seeds, folder, data_root=root)
    block = Block(name, scenario, seeds, folder / "partition.parquet", root)
    return replace(block, device=parsed.device or run.device, threads=run.threads, precision=run.precision)


def _plan(block: Block, methods: dict[str, Method], parsed: argparse.Namespace) -> AuditPlan:
    from sifu.stages.audit_plan import AuditPlan, Target

    if parsed.client is None:
        target = Target.of(block.scenario, parsed.seed, "request", parsed.request, "--request")
    else:
        target = Target.single(block.scenario, parsed.client)
    return AuditPlan(methods, [target], parsed.models)


def noised_in_rounds(methods: dict[str, Method], scenario: Scenario) -> set[str]:
    """The variants with noise in every round, whose claim an accountant makes."""
    from sifu.unlearning.method import OwnTraining

    own = {name: method.training(scenario) for name, method in methods.items() if isinstance(method, OwnTraining)}
    return {name for name, trained in own.items() if trained.federation.privacy is not None}


def _print_rows(rows: list[dict[str, Any]], in_rounds: Collection[str] = ()) -> None:
    """A line a variant and request; `in_rounds`: the variants with noise in every round."""
    from rich.console import Console
    from rich.table import Table

    heads = ("variant", "request", "forgotten", "promise to", "delta", "claimed", "strict", "measured", "proved")
    table = Table(*heads, "at most", "models", "verdict", title="epsilon at the delta of each promise")
    for row in rows:
        covers = "-" if row["covers"] is None else "each alone" if row["covers"] == 1 else f"{row['covers']} together"
        numbers = ("claimed_epsilon", "strict_epsilon", "measured_epsilon", "proved_epsilon", "most_provable")
        words = ("-" if row[number] is None else f"{row[number]:.3g}" for number in numbers)
        named = (row["variant"], str(row["request"]), str(row["clients"]), covers, f"{row['delta']:g}")
        table.add_row(*named, *words, f"{row['models']} a world", row["verdict"])
    Console(width=max(130, Console().width), markup=False, emoji=False).print(table)
    print(
        "strict: by Psi, counted strictly; measured: by alpha; proved: a lower bound with 95% confidence, by counting;"
    )
    print("at most: what so many models can prove. A promise to each alone is tested by one client (--client).")
    _print_points(rows, in_rounds)


def _print_points(rows: list[dict[str, Any]], in_rounds: Collection[str]) -> None:
    """The same epsilons at the points of table `certificates`: one at a single delta says little of others. What is
    claimed of noise in every round has dashes there: it follows from no one ratio.
    """
    from rich.console import Console
    from rich.table import Table

    from sifu.report.other_points import at_own_point, at_points
    from sifu.report.privacy_points import POINTS

    table = Table("variant", "request", "count", *POINTS, title="the same noise at other points")
    for row in rows:
        for count in ("claimed", "strict", "measured"):
            accounted = count == "claimed" and row["variant"] in in_rounds
            points = (at_own_point if accounted else at_points)(row[f"{count}_epsilon"], row["delta"])
            if accounted or set(points) != {"-"}:
                table.add_row(row["variant"], str(row["request"]), count, *points)
    Console(width=max(130, Console().width), markup=False, emoji=False).print(table)
