"""One seed of one variant, alone or in its block, from its partition to its metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sifu.config.blocks import block_name, block_seeds
from sifu.config.federation import Federation
from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.hardware.device import choose_device
from sifu.plan.load import load_scenario, load_variant
from sifu.plan.variants import method_of
from sifu.stages.block import Block
from sifu.stages.choice import chosen_values
from sifu.stages.partition import run_partition
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.stages.verify import REFERENCE, run_verify
from sifu.store.cell import CellKey, cells_file
from sifu.store.parquet import read_stamp
from sifu.store.paths import stage_folder, stop_name
from sifu.unlearning.method import Method, OwnTraining


@dataclass(frozen=True)
class Machine:
    """Where cells are run again, and from which files."""

    config: Path  # folder of scenarios.yaml and variants.yaml
    stored: Path  # results whose searches are taken as they are
    data_root: Path
    device: str = "auto"
    threads: int = 2
    precision: str = "tf32"
    seeds: str = "auto"  # own | block | auto: on a GPU all of the cell's block are run, else its own
    as_stored: bool = False  # train as the stored training did, where the scenario has other settings today

    brought: Mapping[str, Variant] = field(default_factory=dict)  # variants that come before those of the config

    @property
    def together(self) -> bool:
        """Whether all seeds of a block are run. On a GPU distances are summed in an order that depends on the number
        of seeds, and Last scales its noise by them: only the whole block repeats it to the digit. Ten seeds take two
        to three times as long as one there.
        """
        return self.seeds == "block" or (self.seeds == "auto" and choose_device(self.device).type == "cuda")


def seeds_with(cell: CellKey, stored: Path, *, together: bool) -> range:
    """The cell's own seed, or all seeds of its stored block."""
    if not together:
        return range(cell.seed, cell.seed + 1)
    return block_seeds(cells_file(cell, stored).parent.name)


def rerun(cell: CellKey, machine: Machine, folder: Path) -> None:
    """Write the training, the unlearning under the cell's stop rule and the metrics of its seeds to `folder`."""
    scenario = _scenario(cell, machine)
    seeds = seeds_with(cell, machine.stored, together=machine.together)
    held = stage_folder(str(folder), "partition", cell.scenario, block_name(seeds))
    run_partition(cell.scenario, scenario, seeds, held, data_root=machine.data_root, download=False)
    block = Block(
        cell.scenario,
        scenario,
        seeds,
        held / "partition.parquet",
        machine.data_root,
        machine.device,
        machine.threads,
        machine.precision,
    )
    run_train(block, _place(folder, "train", block))
    variants = list(dict.fromkeys([*needed_variants(scenario), cell.variant]))
    for name in variants:
        _unlearn(block, name, rerun_method(name, scenario, cell.scenario, machine), folder)
    weights = {name: _place(folder, "unlearn", block, name) / "weights.safetensors" for name in variants}
    run_verify(block, _place(folder, "verify", block), variants=weights)


def needed_variants(scenario: Scenario) -> tuple[str, ...]:
    """The variants that any cell of a scenario needs: triggers are judged by scratch's answers."""
    return () if scenario.backdoor is None else (REFERENCE,)


def _scenario(cell: CellKey, machine: Machine) -> Scenario:
    """The cell's scenario, with no other limit on recovery than the cell's own."""
    scenario = _planned(cell, machine)
    if machine.as_stored:
        scenario = replace(scenario, federation=_stored_federation(cell, machine, scenario.federation))
    return replace(scenario, budgets=tuple(share for share in scenario.budgets if stop_name(share) == cell.stop))


def _planned(cell: CellKey, machine: Machine) -> Scenario:
    return load_scenario(machine.config / "scenarios.yaml", cell.scenario, machine.data_root)


def _stored_federation(cell: CellKey, machine: Machine, today: Federation) -> Federation:
    """The federation of the stored training of the cell's block. Its clipping, say, may have changed since."""
    block = cells_file(cell, machine.stored).parent.name
    path = stage_folder(str(machine.stored), "train", cell.scenario, block) / "cells.parquet"
    if not path.exists():
        return today
    made = json.loads(read_stamp(path)["settings"]).get("federation", {})
    return build(Federation, to_plain(today) | made, f"{path}: federation")


def changed_since(cell: CellKey, machine: Machine) -> list[str]:
    """Keys of the federation that were others when the cell was made: `clip was none`."""
    today = _planned(cell, machine).federation
    now, then = to_plain(today), to_plain(_stored_federation(cell, machine, today))
    return [f"{key} was {'none' if value is None else value}" for key, value in then.items() if value != now[key]]


def _place(folder: Path, stage: str, block: Block, variant: str = "") -> Path:
    return stage_folder(str(folder), stage, block.name, block_name(block.seeds), variant)


def rerun_method(name: str, scenario: Scenario, scenario_name: str, machine: Machine) -> Method:
    """The method of a variant, with the value that the stored search chose where it has one."""
    variant = machine.brought.get(name) or load_variant(machine.config / "variants.yaml", name)
    if variant.search is None:
        return method_of(name, variant, scenario)
    searched = scenario.searched_as or scenario_name
    search = stage_folder(str(machine.stored), "search", searched, variant.search.block, name)
    return method_of(name, variant, scenario, chosen_values(search / "search.parquet", variant.search))


def _unlearn(block: Block, variant: str, method: Method, folder: Path) -> None:
    common = _place(folder, "train", block)
    trained = common
    if isinstance(method, OwnTraining):
        block = replace(block, scenario=method.training(block.scenario))
        trained = _place(folder, "train", block, variant)
        run_train(block, trained, variant=variant, method=method)
    history = trained / "history.safetensors"
    place = _place(folder, "unlearn", block, variant)
    run_unlearn(block, variant, method, place, history=history, training=common / "cells.parquet")
