"""The commands of the stages: what each takes, and where it writes unless told otherwise."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sifu.config.blocks import block_seeds
from sifu.config.fields import build
from sifu.config.run import PRECISIONS, Change, changed_scenario, limited
from sifu.config.search import ScenarioSearch, trials
from sifu.errors import ConfigError
from sifu.plan.load import default_data_root, load_scenario, load_variant
from sifu.plan.variants import method_of
from sifu.store.paths import stage_folder
from sifu.unlearning.method import OwnTraining

if TYPE_CHECKING:
    from sifu.config.scenario import Scenario
    from sifu.stages.block import Block
    from sifu.unlearning.method import Method

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
Command = Callable[[argparse.Namespace], None]


def add_stages(commands: Commands) -> None:
    """One sub-command a stage, in the order of the data's way."""
    partition = _add(commands, "partition", "Decide who holds which example.", run_partition)
    partition.add_argument("--download", action="store_true", help="let torchvision download a missing dataset")
    search = _add(commands, "search", "Try values of a method's settings on seeds of their own.", run_search)
    search.add_argument("--variant", required=True, help="name in variants.yaml, with a `search`")
    _with_device(search)
    settings = _add(commands, "scenario_search", "Compare values of a scenario's settings.", run_scenario_search)
    settings.add_argument("--search", required=True, help="an entry of the config's `scenario_searches`, as JSON")
    _with_device(settings)
    train = _add(commands, "train", "Train a federation and keep its history.", run_train)
    train.add_argument("--variant", help="train for this variant alone: one whose method has a training of its own")
    _with_device(train)
    unlearn = _add(commands, "unlearn", "Answer every request with one method.", run_unlearn)
    unlearn.add_argument("--variant", required=True, help="name in variants.yaml")
    _with_device(unlearn)
    verify = _add(commands, "verify", "Measure what every variant kept and forgot.", run_verify)
    verify.add_argument("--variants", nargs="+", required=True, help="names whose unlearned weights are compared")
    _with_device(verify)
    sweep = _add(commands, "sweep", "Answer every request with one method under several sigma.", run_sweep)
    sweep.add_argument("--variant", required=True, help="name in variants.yaml")
    sweep.add_argument("--sigmas", nargs="+", type=float, required=True, help="standard deviations of the noise")
    sweep.add_argument("--rounds", type=int, help="most rounds of a recovery (default: the scenario's)")
    sweep.add_argument("--seeds-end", type=int, help="leave out the block's seeds from here on")
    _with_device(sweep)
    sets = _add(commands, "request_sets", "Answer one request of each of several sets of clients.", run_request_sets)
    sets.add_argument("--variants", nargs="+", required=True, help="names in variants.yaml")
    sets.add_argument("--count", type=int, default=10, help="how many sets (default: %(default)s)")
    sets.add_argument("--seeds-end", type=int, help="leave out the block's seeds from here on")
    _with_device(sets)
    _with_device(_add(commands, "alpha", "Measure how much single clients moved the training.", run_alpha))
    changed = _add(commands, "alpha_sweep", "Train with another federation and measure the same.", run_alpha_sweep)
    changed.add_argument("--name", required=True, help="name of the change: folder of its results")
    changed.add_argument("--change", required=True, help='keys of the federation as JSON, such as {"momentum": 0.0}')
    changed.add_argument("--rounds", type=int, help="most rounds of the training (default: the scenario's)")
    _with_device(changed)


def _add(commands: Commands, name: str, text: str, command: Command) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--scenario", required=True, help="name in scenarios.yaml")
    parser.add_argument("--block", required=True, help="seeds to do together, such as s000-009")
    parser.add_argument(
        "--config", type=Path, default=Path("config"), help="folder of scenarios.yaml and variants.yaml"
    )
    parser.add_argument("--results", default="results", help="folder of all results (default: %(default)s)")
    parser.add_argument("--data-root", type=Path, help="folder of the datasets; default: SIFU_DATA_ROOT, else data")
    parser.set_defaults(command=partial(_timed, name, command))
    return parser


def _timed(stage: str, command: Command, parsed: argparse.Namespace) -> None:
    """A stage, with its wall time beside its tables."""
    from sifu.store.timing import timed

    with timed(_folder(parsed, stage, _part(stage, parsed))):
        command(parsed)


def _part(stage: str, parsed: argparse.Namespace) -> str:
    """What a stage's folder is of beside scenario and block: a variant, a change, a search."""
    if stage == "scenario_search":
        return build(ScenarioSearch, _json("--search", parsed.search), "--search").name
    return getattr(parsed, "name", None) or (stage != "sweep" and getattr(parsed, "variant", None)) or ""


def _with_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: %(default)s)")
    parser.add_argument(
        "--precision", choices=PRECISIONS, default="tf32", help="of networks on a GPU (default: %(default)s)"
    )
    parser.add_argument(
        "--checkpoint-seconds", type=float, default=60.0, help="work that a kill may cost (default: %(default)s)"
    )


def _json(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise ConfigError(option, text, "JSON") from None


def at_least_one(option: str, *values: int) -> None:
    for value in values:
        if value < 1:
            raise ConfigError(option, value, "1 or more")


def _scenario(parsed: argparse.Namespace) -> tuple[Scenario, Path]:
    """The scenario with its source resolved, and the folder of the datasets."""
    root = parsed.data_root or default_data_root(None)
    download = getattr(parsed, "download", False)
    return load_scenario(parsed.config / "scenarios.yaml", parsed.scenario, root, download=download), root


def _folder(parsed: argparse.Namespace, stage: str, variant: str = "") -> Path:
    return stage_folder(parsed.results, stage, parsed.scenario, parsed.block, variant)


def _block(parsed: argparse.Namespace) -> Block:
    """What every stage after `partition` works on."""
    from sifu.stages.block import Block

    at_least_one("--threads", parsed.threads)
    scenario, root = _scenario(parsed)
    partition, seeds = _folder(parsed, "partition") / "partition.parquet", block_seeds(parsed.block)
    where = (parsed.device, parsed.threads, parsed.precision, parsed.checkpoint_seconds)
    return Block(parsed.scenario, scenario, seeds, partition, root, *where)


def run_partition(parsed: argparse.Namespace) -> None:
    from sifu.stages.partition import run_partition

    scenario, root = _scenario(parsed)
    seeds, folder = block_seeds(parsed.block), _folder(parsed, "partition")
    run_partition(parsed.scenario, scenario, seeds, folder, data_root=root, download=parsed.download)


def run_search(parsed: argparse.Namespace) -> None:
    from sifu.stages.search import run_search

    variant = load_variant(parsed.config / "variants.yaml", parsed.variant)
    if variant.search is None:
        raise ConfigError("--variant", parsed.variant, "a variant with a `search` in variants.yaml")
    block, folder = _block(parsed), _folder(parsed, "search", parsed.variant)
    tried = trials(variant.search.grid).items()
    methods = {text: method_of(parsed.variant, variant, block.scenario, values) for text, values in tried}
    with block.at_work("search", folder) as block:
        run_search(block, parsed.variant, variant.search, methods, folder, history=_history(parsed))


def run_scenario_search(parsed: argparse.Namespace) -> None:
    from sifu.stages.scenario_search import run_scenario_search

    search = build(ScenarioSearch, _json("--search", parsed.search), "--search")
    variant = load_variant(parsed.config / "variants.yaml", search.variant)
    folder = _folder(parsed, "scenario_search", search.name)
    with _block(parsed).at_work("scenario_search", folder) as block:
        run_scenario_search(block, variant, search, folder)


def _method(parsed: argparse.Namespace, scenario: Scenario) -> Method:
    """The variant's method, with the values that its search found if it has one."""
    variant = load_variant(parsed.config / "variants.yaml", parsed.variant)
    if variant.search is None:
        return method_of(parsed.variant, variant, scenario)
    from sifu.stages.search import chosen_values

    searched = scenario.searched_as or parsed.scenario
    folder = stage_folder(parsed.results, "search", searched, variant.search.block, parsed.variant)
    return method_of(parsed.variant, variant, scenario, chosen_values(folder / "search.parquet", variant.search))


def run_train(parsed: argparse.Namespace) -> None:
    from sifu.stages.train import run_train

    block, folder = _block(parsed), _folder(parsed, "train", parsed.variant or "")
    if parsed.variant is None:
        with block.at_work("train", folder) as block:
            run_train(block, folder)
        return
    method = _method(parsed, block.scenario)
    if not isinstance(method, OwnTraining):
        raise ConfigError("--variant", parsed.variant, "a variant whose method has a training of its own")
    with replace(block, scenario=method.training(block.scenario)).at_work("train", folder) as block:
        run_train(block, folder, variant=parsed.variant, method=method)


def run_unlearn(parsed: argparse.Namespace) -> None:
    from sifu.stages.unlearn import run_unlearn

    block, trained = _block(parsed), _folder(parsed, "train")
    method = _method(parsed, block.scenario)
    if isinstance(method, OwnTraining):
        block = replace(block, scenario=method.training(block.scenario))
        trained = _folder(parsed, "train", parsed.variant)
    folder = _folder(parsed, "unlearn", parsed.variant)
    history, training = trained / "history.safetensors", _folder(parsed, "train") / "cells.parquet"
    with block.at_work("unlearn", folder) as block:
        run_unlearn(block, parsed.variant, method, folder, history=history, training=training)


def _first_seeds(parsed: argparse.Namespace) -> Block:
    """The block, less its seeds from `--seeds-end` on."""
    block = _block(parsed)
    if parsed.seeds_end is None:
        return block
    if parsed.seeds_end <= block.seeds.start:
        raise ConfigError("--seeds-end", parsed.seeds_end, f"more than {block.seeds.start}, the block's first seed")
    return replace(block, seeds=range(block.seeds.start, min(block.seeds.stop, parsed.seeds_end)))


def run_sweep(parsed: argparse.Namespace) -> None:
    from sifu.stages.sweep import run_sweep

    at_least_one("--rounds", 1 if parsed.rounds is None else parsed.rounds)
    block, folder = _first_seeds(parsed), _folder(parsed, "sweep")
    block = replace(block, scenario=limited(block.scenario, parsed.rounds))
    variant = load_variant(parsed.config / "variants.yaml", parsed.variant)
    methods = {}
    for sigma in parsed.sigmas:
        changed = replace(variant, certificate=(variant.certificate or {}) | {"sigma": sigma})
        methods[sigma] = method_of(parsed.variant, changed, block.scenario)
    if any(isinstance(method, OwnTraining) for method in methods.values()):
        raise ConfigError("--variant", parsed.variant, "a variant that starts from the scenario's own training")
    with block.at_work("sweep", folder) as block:
        run_sweep(block, parsed.variant, methods, folder, history=_history(parsed))


def run_request_sets(parsed: argparse.Namespace) -> None:
    from sifu.stages.request_sets import Trained, run_request_sets

    at_least_one("--count", parsed.count)
    block, variants, folder = _first_seeds(parsed), {}, _folder(parsed, "request_sets")
    for name in parsed.variants:
        parsed.variant = name
        method = _method(parsed, block.scenario)
        own = isinstance(method, OwnTraining)
        scenario = method.training(block.scenario) if isinstance(method, OwnTraining) else block.scenario
        variants[name] = Trained(method, scenario, _history(parsed, name if own else ""))
    with block.at_work("request_sets", folder) as block:
        run_request_sets(block, parsed.count, variants, folder)


def _history(parsed: argparse.Namespace, variant: str = "") -> Path:
    return _folder(parsed, "train", variant) / "history.safetensors"


def run_verify(parsed: argparse.Namespace) -> None:
    from sifu.stages.verify import run_verify

    variants = {name: _folder(parsed, "unlearn", name) / "weights.safetensors" for name in parsed.variants}
    with _block(parsed).at_work("verify", folder := _folder(parsed, "verify")) as block:
        run_verify(block, folder, variants=variants)


def run_alpha(parsed: argparse.Namespace) -> None:
    from sifu.stages.alpha import run_alpha

    with _block(parsed).at_work("alpha", folder := _folder(parsed, "alpha")) as block:
        run_alpha(block, folder, history=_history(parsed))


def run_alpha_sweep(parsed: argparse.Namespace) -> None:
    from sifu.stages.alpha_sweep import run_alpha_sweep

    at_least_one("--rounds", 1 if parsed.rounds is None else parsed.rounds)
    change = _json("--change", parsed.change)
    entry, block = build(Change, {"name": parsed.name, "label": "", "change": change}, ""), _block(parsed)
    changed = replace(block, scenario=changed_scenario(block.scenario, entry.change, parsed.rounds, "--change"))
    with changed.at_work("alpha_sweep", folder := _folder(parsed, "alpha_sweep", entry.name)) as block:
        run_alpha_sweep(block, entry.name, folder)
