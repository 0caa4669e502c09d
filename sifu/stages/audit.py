"""audit: a partition and methods -> many models with and without the forgotten clients, and the epsilon they prove."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sifu.config.blocks import batch_of_models
from sifu.federation.shared_data import SharedEngine
from sifu.stages.audit_counts import StoredCounts
from sifu.stages.audit_plan import AuditPlan, Target
from sifu.stages.audited_group import AuditedGroup, Rows
from sifu.stages.block import Block
from sifu.stages.call import StageCall, refuse_below_one
from sifu.stages.rows import frame
from sifu.store.experiment_schemas import AUDIT
from sifu.store.parquet import write_table
from sifu.store.paths import UNFINISHED
from sifu.unlearning.method import OwnTraining


def command(call: StageCall) -> None:
    """`python -m sifu audit_block`."""
    options = call.options
    refuse_below_one("--models", options.models, options.more_models)
    methods = {name: call.method(name) for name in options.variants}
    block = replace(call.block, seeds=call.block.seeds[:1])
    targets = [Target.of(block.scenario, block.seeds[0], who, options.requests) for who in options.who]
    with call.at_work(block) as (working, folder):
        plan = AuditPlan(methods, targets, options.models, options.more_models)
        run_audit(working, plan, folder)


def run_audit(block: Block, plan: AuditPlan, folder: Path) -> None:
    """Writes `folder`/audit.parquet, of the block's first seed. Batches that were counted are not counted again."""
    made_by = replace(block.stamp("audit"), commit="", notes="")
    rows = audit_rows(block, plan, StoredCounts(folder / UNFINISHED, f"{made_by} {block.precision}"))
    write_table(folder / "audit.parquet", AUDIT, frame(AUDIT, rows), block.stamp("audit"))


def audit_rows(block: Block, plan: AuditPlan, stored: StoredCounts) -> Rows:
    """A row for each variant, for whom, and request."""
    engine = replace(block.engine(), checkpoints=None)  # batches are short; their counts are stored
    if any(method.oracle for method in plan.methods.values()):
        engine = replace(engine, test_data=block.test_set())
    rows: Rows = []
    for names in plan.groups():
        first = plan.methods[names[0]]
        scenario = first.training(block.scenario) if isinstance(first, OwnTraining) else block.scenario
        shared = SharedEngine.of(replace(engine, federation=scenario.federation), 1)
        batch = batch_of_models(scenario, block.device)
        rows += AuditedGroup(block, plan, tuple(names), scenario, shared, batch, stored).rows()
    order = list(plan.methods)
    return sorted(rows, key=lambda row: (order.index(row["variant"]), row["who"], row["request"]))
