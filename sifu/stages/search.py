"""search: settings of a method -> every value tried on seeds that are not reported, and the one to use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from sifu.config.changed_scenario import limited
from sifu.config.scenario import Scenario
from sifu.config.search import Search, setting_name, trials
from sifu.core.keys import Keys
from sifu.errors import ConfigError
from sifu.federation.engine import Engine
from sifu.federation.evaluation import share
from sifu.federation.packing import Runner, run_together
from sifu.federation.private_trainings import fit_together, train_values
from sifu.federation.progress import show_progress
from sifu.federation.segment import Segment, Work, count_work
from sifu.methods.scratch import Scratch
from sifu.plan.variants import method_of
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall
from sifu.stages.choice import best_trial
from sifu.stages.rows import frame
from sifu.store.experiment_schemas import SEARCH
from sifu.store.parquet import read_table, write_table
from sifu.store.schemas import CELLS
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.request import draw_requests
from sifu.unlearning.sequence import Answer, answer_requests, target_rule

Rows = list[dict[str, Any]]


def command(call: StageCall) -> None:
    """`python -m sifu search`."""
    name = call.options.variant
    variant = call.variant(name)
    if variant.search is None:
        raise ConfigError("--variant", name, "a variant with a `search` in variants.yaml")
    tried = trials(variant.search.grid).items()
    methods = {text: method_of(name, variant, call.scenario, values) for text, values in tried}
    with call.at_work(call.block, name) as (block, folder):
        training = call.folder(stage="train") / "cells.parquet"
        run_search(block, name, variant.search, methods, folder, history=call.history(), training=training)


def run_search(
    block: Block,
    variant: str,
    search: Search,
    methods: Mapping[str, Method],
    folder: Path,
    *,
    history: Path,
    training: Path,
) -> None:
    """Writes `folder`/search.parquet: each of `methods`, one a value, on the block's seeds.

    `history` is the scenario's training with these seeds; a method with a training of its own does not read it.
    `training` holds its cells, which limit the rounds of recoveries; a search with `rounds` of its own, and trainings
    of a method's own, do not read them.
    """
    engine = block.engine()
    if all(isinstance(method, OwnTraining) for method in methods.values()):
        found = _trained(engine, block, methods, search)
    else:
        limit = _limit(search, training)
        found = _answered(read_lineage(block, engine, history), block, list(methods.values()), limit, variant)
    tried = zip(methods, found, strict=True)
    rows = [{"place": n, "value": text} | row for n, (text, part) in enumerate(tried) for row in part]
    table = frame(SEARCH, rows).assign(scenario=block.name, variant=variant, setting=setting_name(search.grid))
    table["chosen"] = table["place"] == best_trial(table)
    write_table(folder / "search.parquet", SEARCH, table, block.stamp("search", next(iter(methods.values()))))


def _limit(search: Search, training: Path) -> int:
    """Maximum rounds of a value's recovery."""
    return search.limit(0 if search.rounds is not None else int(read_table(training, CELLS)["rounds"].max()))


def _trained(engine: Engine, block: Block, methods: Mapping[str, Method], search: Search) -> list[Rows]:
    """All values of a method with a training of its own: those trainings, as many at a time as fit into a batch."""
    scenarios = {
        text: limited(method.training(block.scenario), search.rounds)  # the scenario's own maximum if that is None
        for text, method in methods.items()
        if isinstance(method, OwnTraining)
    }
    rows: list[Rows] = []
    for texts in _batches(scenarios, block.pack_size()):
        together = [scenarios[text] for text in texts]
        name = f"train {block.name} {setting_name(search.grid)} = {' | '.join(texts)}"
        with show_progress(name, max(scenario.stop.max_rounds for scenario in together)) as progress:
            segments = train_values(engine, together, block.seeds, progress)
        for scenario, segment in zip(together, segments, strict=True):
            federation = scenario.federation
            work = count_work(segment, federation.local_steps, num_models=federation.num_models)
            rows.append(_rows(replace(engine, federation=federation), block.seeds, segment, work))
    return rows


def _batches(scenarios: Mapping[str, Scenario], size: int) -> list[list[str]]:
    """The values in their order, at most `size` together, and only those whose trainings fit together."""
    batches: list[list[str]] = []
    for text, scenario in scenarios.items():
        if batches and len(batches[-1]) < size and fit_together(scenarios[batches[-1][0]], scenario):
            batches[-1].append(text)
        else:
            batches.append([text])
    return batches


def _answered(lineage: Lineage, block: Block, methods: list[Method], limit: int, variant: str) -> list[Rows]:
    """All values of a method that starts from the scenario's training: the answers to the first request.

    Next to them a retraining, which says how accurate a model is on data that it has forgotten.
    """
    scenario = limited(block.scenario, limit)

    def task(method: Method) -> Callable[[Runner], Rows]:
        def work(run: Runner) -> Rows:  # rows, not answers: those would hold their histories until the end
            answer = answer_first(method, lineage, scenario, block.seeds, run)
            return _rows(lineage.engine, block.seeds, answer.unlearned.segment, answer.work, answer.request.forget)

        return work

    name = f"search {block.name} {variant}, {len(methods)} values"
    tasks = [task(method) for method in (Scratch(), *methods)]
    with show_progress(name, scenario.stop.max_rounds) as progress:
        retrained, *tried = run_together(lineage.engine, tasks, block.pack_size(), progress)
    known = [{"retrained_accuracy": row["forget_accuracy"]} for row in retrained]
    return [[row | more for row, more in zip(rows, known, strict=True)] for rows in tried]


def answer_first(
    method: Method, lineage: Lineage, scenario: Scenario, seeds: range, run: Runner | None = None
) -> Answer:
    """The method's answer to the first request, to the target."""
    keys = Keys.of(seeds, lineage.engine.clients.images.device)
    forget, rule = draw_requests(scenario, keys)[:1], target_rule(scenario)
    (answer,) = answer_requests(method, lineage, forget, scenario, rule, keys.fold("unlearn"), None, run)
    return answer


def last_accuracy(engine: Engine, segment: Segment, clients: Tensor | None = None) -> list[float]:
    """Accuracy of a segment's last weights on the data of `clients` [S, C]; one number a seed.

    None: those that it trained.
    """
    device, size = engine.clients.images.device, engine.clients.size
    correct = engine.evaluator.correct(segment.final.to(device), size.new_tensor(range(len(segment.status))))
    found: list[float] = share(correct, size, (segment.available if clients is None else clients).to(device)).tolist()
    return found


def _rows(engine: Engine, seeds: range, segment: Segment, work: Work, forget: Tensor | None = None) -> Rows:
    """A row a seed; `forget` [S, C]: the clients of the request, if there is one."""
    accuracy = last_accuracy(engine, segment)
    forgotten = [None] * len(seeds) if forget is None else last_accuracy(engine, segment, forget)
    return [
        {
            "seed": seed,
            "status": segment.status[i].value,
            "rounds": int(work.rounds[i]),
            "client_steps": int(work.client_steps[i]),
            "accuracy": accuracy[i],
            "forget_accuracy": forgotten[i],
        }
        for i, seed in enumerate(seeds)
    ]
