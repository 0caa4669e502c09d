"""No metric for its own sake: a stage uses every module of sifu/forgetting, and docs/forgetting.md names real ones."""

from __future__ import annotations

import re

from sifu.plan.code_hash import used_modules
from tests.conftest import REPO

MODULES = {path.stem for path in (REPO / "sifu" / "forgetting").glob("*.py") if path.stem != "__init__"}


def test_a_stage_uses_every_metric() -> None:
    used = used_modules("sifu.stages.oracles", "sifu.stages.forgetting")
    assert {name for name in MODULES if f"sifu.forgetting.{name}" not in used} == set()


def test_the_page_names_modules_that_there_are() -> None:
    named = set(re.findall(r"`(\w+)\.py`", (REPO / "docs" / "forgetting.md").read_text()))
    assert named
    assert named <= MODULES
