"""alpha_sweep: a partition and a changed federation -> alpha next to every bound. Its training is not kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sifu.config.changed_scenario import Change, changed_scenario
from sifu.config.fields import build
from sifu.stages.alpha import alpha_rows
from sifu.stages.block import Block
from sifu.stages.call import StageCall, refuse_below_one
from sifu.stages.train import train
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import write_table
from sifu.unlearning.lineage import Lineage


def command(call: StageCall) -> None:
    """`python -m sifu alpha_sweep`."""
    rounds = call.options.rounds
    refuse_below_one("--rounds", rounds)
    entry = build(Change, {"name": call.options.name, "label": call.options.name, "change": call.json("change")}, "")
    scenario = changed_scenario(call.scenario, entry.change, rounds, "--change")
    with call.at_work(replace(call.block, scenario=scenario), entry.name) as (block, folder):
        run_alpha_sweep(block, entry.name, folder)


def run_alpha_sweep(block: Block, change: str, folder: Path) -> None:
    """Writes `folder`/alpha.parquet of the block's scenario, whose federation is the changed one; `change`: its name.

    Seeds that do not reach their target, or diverge, have rows as far as they came.
    """
    engine = block.engine()
    segment = train(engine, block.scenario, block.seeds, f"{block.name} {change}")
    rows = alpha_rows(block, Lineage.of(engine, segment), change)
    write_table(folder / "alpha.parquet", ALPHA, rows, block.stamp("alpha_sweep"))
