"""How a plan cuts the seeds of a scenario, and those of its sweeps, into blocks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.config.blocks import block_seeds
from sifu.errors import ConfigError
from sifu.plan.load import load_suite, read_yaml
from sifu.plan.report_plan import Job, ReportPlan
from tests.conftest import REPO

CONFIG = REPO / "config"
DEFAULT = load_suite(read_yaml(CONFIG / "config.yaml"), CONFIG, {})


def test_sweeps_with_some_of_the_seeds() -> None:
    """10 seeds in blocks of 4, the sweep with 5 of them: blocks 0-3 and 4-7, the second cut at 5."""
    raw = read_yaml(CONFIG / "config.yaml") | {"num_seeds": 10, "block_size": 4}
    raw["sigma_sweep"] = raw["sigma_sweep"] | {"num_seeds": 5}
    raw["request_sets"] = raw["request_sets"] | {"num_seeds": None}
    suite = load_suite(raw, CONFIG)
    assert suite.jobs["sweep"] == [Job("mnist_embedded", block, "sifu") for block in ("s000-003", "s004-007")]
    assert suite.seeds_end(suite.sigma_sweeps["sifu"]) == 5
    assert len(suite.jobs["request_sets"]) == 3
    assert suite.seeds_end(suite.run.request_sets) == 10


@given(st.integers(1, 50), st.integers(1, 12), st.integers(0, 30))
def test_blocks_cover_every_seed_once(count: int, size: int, first: int) -> None:
    run = replace(DEFAULT.run, num_seeds=count, block_size=size, first_seed=first)
    seeds = [seed for block in replace(DEFAULT, run=run).blocks_of("mnist_embedded") for seed in block_seeds(block)]
    assert seeds == list(range(first, first + count))


def test_scenarios_may_have_blocks_of_their_own() -> None:
    """Seven seeds in blocks of two, but of `smoke_backdoor` in one of ten; sweeps, audits and the report follow."""
    run = {
        "scenarios": ["smoke", "smoke_backdoor"],
        "variants": ["scratch", "sifu"],
        "num_seeds": 7,
        "block_size": 2,
        "block_sizes": [{"scenarios": ["smoke_backdoor"], "size": 10}],
        "request_sets": {"scenarios": ["smoke", "smoke_backdoor"], "variants": ["scratch"], "num_seeds": 3},
        "audits": {"scenarios": ["smoke_backdoor"], "variants": ["sifu"]},
    }
    suite = load_suite(run, CONFIG, {})
    twos = ["s000-001", "s002-003", "s004-005", "s006-006"]
    assert [(job.scenario, job.block) for job in suite.jobs["train"]] == [
        *(("smoke", block) for block in twos),
        ("smoke_backdoor", "s000-006"),
    ]
    assert len(suite.jobs["unlearn"]) == 2 * 5
    assert [job.block for job in suite.jobs["request_sets"]] == [*twos[:2], "s000-006"]
    assert [job.block for job in suite.jobs["audit"]] == ["s000-006"]
    plan = suite.report_plan()
    assert plan.blocks == {"smoke": twos, "smoke_backdoor": ["s000-006"]}
    read = ReportPlan.read(json.loads(json.dumps(plan.plain())))
    assert (read.blocks, read.jobs["unlearn"]) == (plan.blocks, plan.jobs["unlearn"])


@pytest.mark.parametrize(
    ("names", "words"), [(["smoke", "smoke"], "each scenario once"), (["smok"], "did you mean smoke")]
)
def test_blocks_of_unknown_scenarios_are_refused(names: list[str], words: str) -> None:
    """One that this run leaves out is none of them."""
    run = {"scenarios": ["smoke"], "variants": ["scratch"], "block_size": 1}
    with pytest.raises(ConfigError, match=words):
        load_suite(run | {"block_sizes": [{"scenarios": names, "size": 2}]}, CONFIG, {})
    left_out = load_suite(run | {"block_sizes": [{"scenarios": ["smoke_cnn"], "size": 2}]}, CONFIG, {})
    assert left_out.blocks_of("smoke")[0] == "s000-000"
