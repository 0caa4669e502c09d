"""How a method's forgetting is shown, in the picture and on the leaderboard: accuracy does not have the last word."""

from __future__ import annotations

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import BY_ACCURACY, FORGOTTEN, NOT_FORGOTTEN, TWINS, Grade
from sifu.report.looked_good import forgot, surely_forgot
from sifu.report.standings import TRAIN_AGAIN, Standing

Verdicts = dict[tuple[str, str], tuple[Grade, str]]  # by scenario and variant: what it looks like, and its sign
REFUTED = f"{NOT_FORGOTTEN.sign} twin test"  # at a bar that accuracy alone would call forgotten


def verdicts(plan: ReportPlan, rows: list[Standing]) -> Verdicts:
    """By scenario and variant, what a bar or cell looks like and its sign.

    What rests on accuracy alone looks weaker, and not forgotten where the method fails the twin test of the same kind
    of training. Whoever trains again without the clients has forgotten them, whatever was measured.
    """
    good, sure = ({row[:2] for row in some} for some in (forgot(plan, rows), surely_forgot(plan, rows)))
    found = {}
    for row in rows:
        given, key = row.grade, row[:2]
        if row.by != TWINS and plan.methods[row.variant] in TRAIN_AGAIN:
            given = FORGOTTEN
        elif row.by != TWINS and given is FORGOTTEN and key not in sure:
            given = BY_ACCURACY if key in good else NOT_FORGOTTEN
        refuted = given is NOT_FORGOTTEN and row.grade is FORGOTTEN
        found[key] = given, REFUTED if refuted else given.sign
    return found
