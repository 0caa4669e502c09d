"""The paper's appendix A: what fine-tuning cannot reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.figures.null_space import draw
from sifu.report.results import Results
from sifu.stages.null_space import STEP, descend, draw_problem, forget_last_example, null_projector, run_null_space
from sifu.store.experiment_schemas import NULL_SPACE
from sifu.store.parquet import read_table


@pytest.mark.parametrize("seed", range(3))
def test_fine_tuning_never_removes_the_null_space_part(seed: int) -> None:
    """It stays what the training left there, exactly; the rest of the difference goes away."""
    rows = forget_last_example(seed)
    assert np.allclose(rows["null_space"], rows["left_behind"], rtol=1e-9)
    assert rows["left_behind"].iloc[0] > 0.01
    assert rows["span"].iloc[-1] < 1e-6 < rows["span"].iloc[0]


def test_descent_is_the_closed_form() -> None:
    """theta^N = (I - eta X^T X)^N theta^0 + eta sum over n < N of (I - eta X^T X)^n X^T y (appendix A)."""
    features, targets, start = draw_problem(0)
    shrink = np.eye(20) - STEP * features.T @ features
    expected = np.linalg.matrix_power(shrink, 7) @ start
    expected += STEP * sum(np.linalg.matrix_power(shrink, n) @ features.T @ targets for n in range(7))
    assert np.allclose(descend(features, targets, start, 7)[-1], expected)


def test_a_projection_onto_the_null_space() -> None:
    features = draw_problem(1).features
    projector = null_projector(features)
    assert np.allclose(projector @ projector, projector)
    assert np.allclose(features @ projector, 0)
    assert np.trace(projector) == pytest.approx(20 - 8)


def test_the_example_is_written_and_drawn(tmp_path: Path) -> None:
    run_null_space(tmp_path / "null_space")
    rows = read_table(tmp_path / "null_space" / "null_space.parquet", NULL_SPACE)
    assert rows["seed"].nunique() == 10
    plan = ReportPlan(str(tmp_path), jobs={"null_space": [Job()]})
    flat, falling = (line.get_ydata() for line in draw(Results(plan)).axes[0].get_lines())
    assert np.ptp(np.asarray(flat, float)) < 1e-9
    assert float(np.asarray(falling, float)[-1]) < 1e-6
