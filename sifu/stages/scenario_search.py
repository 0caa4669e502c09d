"""scenario_search: settings of a scenario -> every value tried on seeds that are not reported, and the best of them.

Nothing reads it but the report: the config's values are what is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sifu.config.changed_scenario import limited, tried_scenario
from sifu.config.fields import build
from sifu.config.search import ScenarioSearch, setting_name, trials
from sifu.config.variant import Variant
from sifu.core.types import Status
from sifu.federation.segment import Segment, count_work
from sifu.plan.variants import method_of
from sifu.stages.block import Block
from sifu.stages.call import StageCall
from sifu.stages.choice import best_trial
from sifu.stages.rows import frame
from sifu.stages.search import answer_first, last_accuracy
from sifu.stages.train import train
from sifu.store.experiment_schemas import SCENARIO_SEARCH
from sifu.store.parquet import write_table
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.sequence import Answer


def command(call: StageCall) -> None:
    """`python -m sifu scenario_search`."""
    search = build(ScenarioSearch, call.json("search"), "--search")
    with call.at_work(call.block, search.name) as (block, folder):
        run_scenario_search(block, call.variant(search.variant), search, folder)


def run_scenario_search(block: Block, variant: Variant, search: ScenarioSearch, folder: Path) -> None:
    """Writes `folder`/scenario_search.parquet: a training and the answer to the first request with each value."""
    rows: list[dict[str, Any]] = []
    for place, (text, values) in enumerate(trials(search.grid).items()):
        scenario = tried_scenario(block.scenario, values, "grid")
        key = {"place": place, "value": text, "used": scenario == block.scenario}
        tried = replace(block, scenario=limited(scenario, search.rounds))
        rows += [key | row for row in _trial(tried, variant, search)]
    named = {"scenario": block.name, "setting": setting_name(search.grid), "variant": search.variant}
    table = frame(SCENARIO_SEARCH, rows).assign(**named)
    table["chosen"] = table["place"] == best_trial(table)
    stamp = block.stamp("scenario_search", method_of(search.variant, variant, block.scenario))
    write_table(folder / "scenario_search.parquet", SCENARIO_SEARCH, table, stamp)


def _trial(block: Block, variant: Variant, search: ScenarioSearch) -> list[dict[str, Any]]:
    """One value, which the block's scenario has: a row a seed."""
    engine, scenario = block.engine(), block.scenario
    method = method_of(search.variant, variant, scenario)
    trained = train(engine, scenario, block.seeds, f"{block.name}, {search.name} search")
    answer = answer_first(method, Lineage.of(engine, trained), scenario, block.seeds)
    steps = count_work(trained, scenario.federation.local_steps).client_steps + answer.work.client_steps
    accuracy = last_accuracy(engine, answer.unlearned.segment)
    return [
        _row(seed, i, trained, answer) | {"client_steps": int(steps[i]), "accuracy": accuracy[i]}
        for i, seed in enumerate(block.seeds)
    ]


def _row(seed: int, i: int, trained: Segment, answer: Answer) -> dict[str, Any]:
    ends = (trained.status[i], answer.unlearned.segment.status[i])
    return {
        "seed": seed,
        "status": worst(ends).value,
        "trained": ends[0].value,
        "training_rounds": int(trained.rounds[i]),
        "rounds": int(answer.work.rounds[i]),
    }


def worst(ends: Sequence[Status]) -> Status:
    """How a seed ended: diverged if it ever did, done if it always was."""
    for status in (Status.DIVERGED, Status.NOT_REACHED):
        if status in ends:
            return status
    return Status.DONE
