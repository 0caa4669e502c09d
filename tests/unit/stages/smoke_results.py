"""The smoke scenario from partition to page, with two methods that only this run knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from sifu.catalog.methods import METHODS
from sifu.config.fields import settings, to_plain
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.methods.fine_tuning import FineTuning
from sifu.plan.load import load_scenario
from sifu.plan.report_plan import Job, ReportPlan
from sifu.plan.variants import build_method
from sifu.stages.alpha import run_alpha
from sifu.stages.block import Block
from sifu.stages.figure import run_figure
from sifu.stages.null_space import run_null_space
from sifu.stages.page import run_page
from sifu.stages.partition import run_partition
from sifu.stages.report import run_report
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.stages.verify import run_verify
from sifu.store.parquet import read_table
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.conftest import REPO, made_once

BLOCK, SEEDS = "s000-001", range(2)
LABELS = {"scratch": "Scratch", "sifu": "SIFU", "dummy": "Dummy", "refusing": "Refusing"}


@settings
class Dummy(FineTuning):
    """Halve the weights, then train on: 10 lines, and it is in every table and figure."""

    name = "dummy"

    def unlearn(self, history: Lineage, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(history.current / 2, keys), history.end)


@settings
class Refusing(FineTuning):
    """A method that does not apply here."""

    name = "refusing"

    def unlearn(self, history: Lineage, request: Request, server: Server, keys: Keys) -> Unlearned:
        raise MethodRefused("it needs a strongly convex loss")


@dataclass(frozen=True)
class Ran:
    root: Path
    scenario: Scenario

    def folder(self, stage: str, variant: str = "") -> Path:
        return self.root / stage / "smoke" / variant / BLOCK

    def table(self, stage: str, name: str, schema: object, variant: str = "") -> pd.DataFrame:
        return read_table(self.folder(stage, variant) / f"{name}.parquet", schema)  # type: ignore[arg-type]


def plan_of(root: Path) -> ReportPlan:
    return ReportPlan(
        results=str(root),
        titles={"smoke": "Smoke"},
        labels=LABELS,
        methods={"scratch": "scratch", "sifu": "sifu", "dummy": "fine_tuning", "refusing": "fine_tuning"},
        shown=list(LABELS),
        variants={"smoke": list(LABELS)},
        marks={"smoke": "plain"},
        settings={"smoke": to_plain(load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root))},
        jobs={stage: [Job("smoke", BLOCK)] for stage in ("train", "verify", "alpha")}
        | {"unlearn": [Job("smoke", BLOCK, variant) for variant in LABELS], "null_space": [Job()]},
    )


def smoke_results(factory: pytest.TempPathFactory) -> Ran:
    """Made by the first test that asks for them."""
    return _ran(made_once(factory, "smoke_results", _make))


def _ran(root: Path) -> Ran:
    return Ran(root, load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root))


def _make(root: Path) -> None:
    made = _ran(root)
    scenario = made.scenario
    run_partition("smoke", scenario, SEEDS, made.folder("partition"), data_root=root)
    block = Block("smoke", scenario, SEEDS, made.folder("partition") / "partition.parquet", root)
    run_train(block, made.folder("train"))
    history = made.folder("train") / "history.safetensors"
    training = made.folder("train") / "cells.parquet"
    methods: dict[str, Method] = {"dummy": Dummy(), "refusing": Refusing()}
    methods |= {name: build_method(name, {}, scenario.certificate) for name in ("scratch", "sifu")}
    with pytest.MonkeyPatch.context() as patch:
        for added in (Dummy, Refusing):  # the one line that registers a method
            patch.setitem(METHODS, added.name, "sifu.methods.fine_tuning:FineTuning")
        for name in LABELS:
            run_unlearn(block, name, methods[name], made.folder("unlearn", name), history=history, training=training)
    weights = {name: made.folder("unlearn", name) / "weights.safetensors" for name in LABELS}
    run_verify(block, made.folder("verify"), variants=weights)
    run_alpha(block, made.folder("alpha"), history=history)
    run_null_space(root / "null_space")
    run_report(plan_of(root), root / "report")
    for name in plan_of(root).figures:
        run_figure(plan_of(root), name, root / "report")
    run_page(plan_of(root), root / "report", "make")
