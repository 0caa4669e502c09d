"""How a method's forgetting is shown, in the picture and on the leaderboard: accuracy does not have the last word."""

from __future__ import annotations

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import BY_ACCURACY, FORGOTTEN, NOT_FORGOTTEN, TWINS, Grade
from sifu.report.looked_good import is_exact, surely_forgot, who_fails
from sifu.report.standings import TRAIN_AGAIN, Standing

Verdicts = dict[tuple[str, str], tuple[Grade, str]]  # by scenario and variant: what it looks like, and its sign
REFUTED = f"{NOT_FORGOTTEN.sign} twin test"  # at a bar that accuracy alone would call forgotten, or could not judge


def verdicts(plan: ReportPlan, rows: list[Standing]) -> Verdicts:
    """By scenario and variant, what a bar or cell looks like and its sign."""
    sure, failed = ({row[:2] for row in some} for some in (surely_forgot(plan, rows), who_fails(plan, rows)))
    return {row[:2]: _verdict(plan, row, sure=row[:2] in sure, failed=row[:2] in failed) for row in rows}


def _verdict(plan: ReportPlan, row: Standing, *, sure: bool, failed: bool) -> tuple[Grade, str]:
    """Whoever trains again without the clients has forgotten them, and so has an exact answer, whatever was measured.

    What rests on accuracy alone looks weaker (unless `sure`), and not forgotten where the method `failed` the twin test
    of the same kind of training: accuracy is the weaker measure, also where it sees a part of what is left.
    """
    if row.by == TWINS:
        return row.grade, row.grade.sign
    if plan.methods[row.variant] in TRAIN_AGAIN:
        return FORGOTTEN, FORGOTTEN.sign
    if failed:
        return NOT_FORGOTTEN, row.grade.sign if row.grade is NOT_FORGOTTEN else REFUTED
    if is_exact(row):
        return FORGOTTEN, FORGOTTEN.sign
    given = BY_ACCURACY if row.grade is FORGOTTEN and not sure else row.grade
    return given, given.sign
