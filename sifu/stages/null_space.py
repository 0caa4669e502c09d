"""null_space: the paper's appendix A -> how far fine-tuning stays from retraining, step by step.

With more features than examples, gradient descent moves the weights within the span of the examples alone. What a
forgotten example has left in the null space of the others, no amount of training on them can reach.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.plan.code_hash import code_hash
from sifu.stages.call import StageCall
from sifu.store.experiment_schemas import NULL_SPACE
from sifu.store.parquet import write_table
from sifu.store.paths import stage_folder
from sifu.store.provenance import provenance

SEEDS = range(10)
Array = NDArray[np.float64]
EXAMPLES, FEATURES = 8, 20
STEP = 0.02
TRAINED, FINE_TUNED = 2000, 600


def command(call: StageCall) -> None:
    """`python -m sifu null_space`."""
    folder = stage_folder(call.options.results, "null_space")
    run_null_space(folder)
    print(f"wrote {folder / 'null_space.parquet'}")


def run_null_space(folder: Path) -> None:
    """Writes `folder`/null_space.parquet."""
    rows = pd.concat([forget_last_example(seed) for seed in SEEDS])
    settings = {"examples": EXAMPLES, "features": FEATURES, "step": STEP, "seeds": len(SEEDS)}
    stamp = provenance("null_space", settings, code_hash("sifu.stages.null_space"), "cpu")
    write_table(folder / "null_space.parquet", NULL_SPACE, rows, stamp)


class Problem(NamedTuple):
    features: Array  # [n, D]
    targets: Array  # [n]
    start: Array  # [D]


def draw_problem(seed: int) -> Problem:
    """Standard normal features, targets and first weights."""
    random = np.random.default_rng(seed)
    return Problem(random.normal(size=(EXAMPLES, FEATURES)), random.normal(size=EXAMPLES), random.normal(size=FEATURES))


def descend(features: Array, targets: Array, start: Array, steps: int) -> Array:
    """The weights after 0, 1, ..., `steps` steps of gradient descent on half the squared error. [steps + 1, D]"""
    weights = [start]
    for _ in range(steps):
        residual = features @ weights[-1] - targets
        weights.append(weights[-1] - STEP * features.T @ residual)
    return np.stack(weights)


def null_projector(features: Array) -> Array:
    """The projection onto the null space of the examples. [D, D]"""
    return np.eye(features.shape[1]) - np.linalg.pinv(features) @ features


def forget_last_example(seed: int) -> pd.DataFrame:
    """Train on all examples, then on without the last one; compared with the same steps from the first weights.

    One row a step: the distance of the two models, in the null space of the examples that are left and in their span.
    """
    features, targets, start = draw_problem(seed)
    trained = descend(features, targets, start, TRAINED)[-1]
    rest = features[:-1], targets[:-1]
    difference = descend(*rest, trained, FINE_TUNED) - descend(*rest, start, FINE_TUNED)  # [steps + 1, D]
    hidden = difference @ null_projector(rest[0])
    return pd.DataFrame(
        {
            "seed": seed,
            "step": np.arange(FINE_TUNED + 1),
            "null_space": np.linalg.norm(hidden, axis=1),
            "span": np.linalg.norm(difference - hidden, axis=1),
            "left_behind": np.linalg.norm(null_projector(rest[0]) @ (trained - start)),
        }
    )
