"""alpha_sweep: a partition and a changed federation -> alpha beside every bound. Its training is not kept."""

from __future__ import annotations

from pathlib import Path

from sifu.stages.alpha import alpha_rows
from sifu.stages.block import Block
from sifu.stages.train import train
from sifu.store.parquet import write_table
from sifu.store.schemas import ALPHA


def run_alpha_sweep(block: Block, change: str, folder: Path) -> None:
    """Writes `folder`/alpha.parquet of the block's scenario, whose federation is the changed one; `change`: its name.

    Seeds that do not reach their target, or diverge, have rows as far as they came.
    """
    engine = block.engine()
    segment = train(engine, block.scenario, block.seeds, f"{block.name} {change}")
    rows = alpha_rows(block, engine, segment, change)
    write_table(folder / "alpha.parquet", ALPHA, rows, block.stamp("alpha_sweep"))
