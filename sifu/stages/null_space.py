"""null_space: the paper's appendix A -> how far fine-tuning stays from retraining, step by step."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.codehash import code_hash
from sifu.null_space import EXAMPLES, FEATURES, STEP, forget_last_example
from sifu.provenance import provenance
from sifu.schemas import NULL_SPACE
from sifu.store import write_table

SEEDS = range(10)


def run_null_space(folder: Path) -> None:
    """Writes `folder`/null_space.parquet."""
    rows = pd.concat([forget_last_example(seed) for seed in SEEDS])
    settings = {"examples": EXAMPLES, "features": FEATURES, "step": STEP, "seeds": len(SEEDS)}
    stamp = provenance("null_space", settings, code_hash("sifu.stages.null_space"), "cpu")
    write_table(folder / "null_space.parquet", NULL_SPACE, rows, stamp)
