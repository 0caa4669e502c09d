"""counterfactual: a training's history -> the same training without the clients of each request.

Certificates are compared with it. It is made once for all variants of a block.
"""

from __future__ import annotations

from pathlib import Path

from sifu.core.keys import Keys
from sifu.federation.progress import show_progress
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall
from sifu.unlearning.request import draw_requests
from sifu.unlearning.training_without import trainings_without
from sifu.unlearning.training_without_file import write_trainings_without


def command(call: StageCall) -> None:
    """`python -m sifu counterfactual`."""
    with call.at_work(call.block) as (block, folder):
        run_counterfactual(block, folder, history=call.history())


def run_counterfactual(block: Block, folder: Path, *, history: Path) -> None:
    """Writes `folder`/counterfactual.safetensors."""
    lineage = read_lineage(block, block.engine(), history)
    training, requests = lineage.segments[0], draw_requests(block.scenario, Keys.of(block.seeds))
    with show_progress(f"counterfactual {block.name}", block.scenario.stop.max_rounds) as progress:
        runs = trainings_without(lineage.engine, training, requests, progress, block.pack_size())
    write_trainings_without(folder / "counterfactual.safetensors", training, runs, block.stamp("counterfactual"))
