"""Every kind of scenario and method, then what any change re-runs. The tests of this file build on one another.

tests/workflow/test_smoke.py shows the same on one scenario, in a fraction of the time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sifu.catalog.figures import FIGURES
from sifu.plan.load import load_variant
from sifu.plan.report_files import REPORT_FILES
from sifu.plan.stage_spec import STAGES
from sifu.stages.choice import chosen_values
from sifu.store.experiment_schemas import SCENARIO_SEARCH
from sifu.store.parquet import read_stamp, read_table
from sifu.store.paths import FIGURE_KINDS
from sifu.store.schemas import CELLS
from tests.workflow.conftest import Checkout

pytestmark = pytest.mark.long
CONFIG = ("--configfile", "config/whole.yaml")
SCENARIOS = ("smoke", "smoke_cnn", "smoke_convex", "smoke_backdoor")
BLOCKS = ("s000-001",)
DRAWN = set(FIGURES) - {"setting_sweep", "audit", "power", "atlas"}  # which are not planned
READ = {"all": 1, "report": 1, "page": 1}
ANSWERS = READ | {"figure": 7}  # all but alpha, null_space and request_sets
SWEEPS = {"sweep": 1, "request_sets": 1, "figure": 8}
AFTER_TRAIN = (
    READ | SWEEPS | {"train_variant": 1, "unlearn": 15, "verify": 4, "alpha": 4, "alpha_sweep": 1, "figure": 9}
)
AFTER_CNN = READ | {"train": 1, "scenario_search": 2, "unlearn": 3, "verify": 1, "alpha": 1, "figure": 8}
ALL_TRAIN = AFTER_TRAIN | {"train": 5, "counterfactual": 2, "search": 2, "scenario_search": 2}


@pytest.fixture(scope="module")
def done(checkout: Checkout) -> Checkout:
    result = checkout.snakemake(*CONFIG)
    assert result.returncode == 0, result.stdout + result.stderr
    return checkout


def append(checkout: Checkout, module: str, text: str) -> str:
    """Add text to a module of this copy; what it was before."""
    path = checkout.root / "sifu" / module
    before = path.read_text()
    path.write_text(before + text)
    return before


def test_every_planned_cell_has_its_files_and_rows(done: Checkout) -> None:
    for scenario in SCENARIOS:
        for block in BLOCKS:
            folder = done.root / "results" / "whole" / "train" / scenario / block
            assert all((folder / file).exists() for file in (*STAGES["train"].outputs, "log.txt", "time.json"))
    seeds = [
        seed
        for block in BLOCKS
        for seed in read_table(Path(done.root, "results/whole/train/smoke", block, "cells.parquet"), CELLS)["seed"]
    ]
    assert seeds == [0, 1]
    report = done.root / "results" / "whole" / "report"
    assert all((report / "tables" / file).exists() for file in REPORT_FILES)
    assert all((report / "figures" / f"{name}.{kind}").exists() for name in DRAWN for kind in FIGURE_KINDS)
    page = (report / "report.html").read_text()
    assert "planned tables are missing" not in page
    assert "snakemake --cores 4 --configfile config/whole.yaml" in page


def found(done: Checkout, variant: str) -> dict[str, Any]:
    search = load_variant(done.root / "config" / "variants.yaml", variant).search
    assert search is not None
    folder = done.root / "results" / "whole" / "search" / "smoke" / variant / "s1000000-1000000"
    return chosen_values(folder / "search.parquet", search)


def test_a_searched_value_is_the_one_that_is_used(done: Checkout) -> None:
    root = done.root / "results" / "whole"
    clip = found(done, "dp_smoke")["clip"]
    assert clip in (0.01, 0.1)
    for stage in ("train", "unlearn"):
        stamp = read_stamp(root / stage / "smoke" / "dp_smoke" / "s000-001" / "cells.parquet")
        assert f'"clip": {clip}' in stamp["settings"]
        assert f'"update_clip": {clip}' in stamp["settings"]
    every = found(done, "fed_eraser_smoke")["every"]
    stamp = read_stamp(root / "unlearn" / "smoke" / "fed_eraser_smoke" / "s000-001" / "cells.parquet")
    assert every in (1, 4)
    assert f'"every": {every}' in stamp["settings"]


def test_a_scenarios_searches_are_stored_and_shown(done: Checkout) -> None:
    root = done.root / "results" / "whole"
    folder = root / "scenario_search" / "smoke_cnn"
    for name, value in (("clip", "5"), ("model", "cnn28_narrow")):
        table = read_table(folder / name / "s1000000-1000000" / "scenario_search.parquet", SCENARIO_SEARCH)
        assert table.loc[table["used"], "value"].tolist() == [value]
        assert table["chosen"].sum() == 1
    shown = (root / "report" / "tables" / "scenario_search.md").read_text()
    assert "| Smoke (CNN) | federation.clip | null |" in shown
    assert "| Smoke (CNN) | model | logistic |" in shown
    assert "What was tried for settings of scenarios" in (root / "report" / "report.html").read_text()


def test_a_method_that_does_not_apply_has_rows_that_say_so(done: Checkout) -> None:
    root = done.root / "results" / "whole"
    refused = read_table(root / "unlearn" / "smoke" / "descent_to_delete" / "s000-001" / "cells.parquet", CELLS)
    assert set(refused["status"]) == {"refused"}
    assert len(refused) == 2 * 3 * 2  # seeds, requests, stop rules
    fine = read_table(root / "unlearn" / "smoke_convex" / "descent_to_delete" / "s000-001" / "cells.parquet", CELLS)
    assert (fine["sigma"] > 0).all()
    assert "| Smoke | Descent-to-Delete | 1 | refused |" in (root / "report/tables/headline.md").read_text()


def test_running_again_does_nothing(done: Checkout) -> None:
    assert done.plan(*CONFIG) == {}


@pytest.mark.parametrize(
    ("module", "text", "plan"),
    [
        ("federation/engine.py", "\nEDITED = True\n", ALL_TRAIN),
        ("models/cnn.py", "\nEDITED = True\n", AFTER_CNN),
        ("data/partition.py", "\nEDITED = True\n", ALL_TRAIN | {"partition": 6}),
        ("methods/sifu.py", "\nEDITED = True\n", ANSWERS | SWEEPS | {"scenario_search": 2, "unlearn": 3, "verify": 3}),
        ("methods/fed_eraser.py", "\nEDITED = True\n", ANSWERS | {"search": 1, "unlearn": 1, "verify": 1}),
        (
            "methods/dp_fedavg.py",
            "\nEDITED = True\n",
            ANSWERS | {"search": 1, "train_variant": 1, "unlearn": 1, "verify": 1},
        ),
        ("stages/null_space.py", "\nEDITED = True\n", {"all": 1, "null_space": 1, "figure": 1, "page": 1}),
        ("catalog/methods.py", "\nEDITED = True\n", {}),
        ("certificate/alpha.py", "\nEDITED = True\n", READ | {"alpha": 4, "alpha_sweep": 1, "figure": 1}),
        ("stages/verify.py", "\nEDITED = True\n", READ | {"verify": 4, "figure": 5}),
        ("metrics/client_std.py", "\nEDITED = True\n", READ | {"verify": 4, "figure": 5}),
        ("catalog/metrics.py", "\nEDITED = True\n", READ | {"verify": 4, "figure": 5}),
        ("report/figures/lineage.py", "\nEDITED = True\n", {"all": 1, "figure": 1, "page": 1}),
        ("bench/rounds.py", "\nEDITED = True\n", {}),
        ("federation/engine.py", "\n# only a comment\n", {}),
        ("data/celeba.py", "\nEDITED = True\n", {}),
    ],
)
def test_an_edit_reruns_the_stages_that_use_it(done: Checkout, module: str, text: str, plan: dict[str, int]) -> None:
    before = append(done, module, text)
    try:
        assert done.plan(*CONFIG) == plan
    finally:
        (done.root / "sifu" / module).write_text(before)


@pytest.mark.parametrize(
    ("old", "new", "plan"),
    [
        (
            "client_lr: 0.02, clip: 5.0}\n  stop: {accuracy: 0.5",
            "client_lr: 0.03, clip: 5.0}\n  stop: {accuracy: 0.5",
            AFTER_CNN,
        ),
        ("label: Smoke\n", "label: Smoke again\n", READ | {"figure": 10}),
        ("size: 2}\n  watermark", "size: 1}\n  watermark", ANSWERS | {"scenario_search": 2, "unlearn": 3, "verify": 1}),
        (
            "kind: one_class, num_clients: 20, examples: 20, seed: 0",
            "kind: one_class, num_clients: 20, examples: 25, seed: 0",
            AFTER_TRAIN
            | {"partition": 2, "train": 2, "search": 2, "unlearn": 7, "verify": 1, "alpha": 1, "counterfactual": 1},
        ),
    ],
    ids=["learning rate", "label", "requests", "partition"],
)
def test_a_setting_reruns_the_stages_that_use_it(done: Checkout, old: str, new: str, plan: dict[str, int]) -> None:
    path = done.root / "config" / "scenarios.yaml"
    before = path.read_text()
    assert before.count(old) == 1
    path.write_text(before.replace(old, new))
    try:
        assert done.plan(*CONFIG) == plan
    finally:
        path.write_text(before)


def test_snakemakes_own_report_works(done: Checkout) -> None:
    result = done.snakemake(*CONFIG, "--report", "report.html")
    assert result.returncode == 0, result.stderr
    assert (done.root / "report.html").stat().st_size > 10_000
