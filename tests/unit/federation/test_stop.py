"""Stop rules, and when accuracy is evaluated."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from sifu.config.federation import Target
from sifu.federation.stop import Stop


def test_evaluations_are_more_frequent_near_the_target() -> None:
    """Distance to a target of 0.9: 0.5, 0.15, 0.07, 0.03, 0.01 -> 20, 10, 5, 2, 1 rounds."""
    stop = Stop.at_target(Target(accuracy=0.9, min_rounds=0), 5)
    accuracy = torch.tensor([0.40, 0.75, 0.83, 0.87, 0.89])
    assert stop.next_evaluation(accuracy, torch.ones(1), 100).tolist() == [120, 110, 105, 102, 101]


def test_a_seed_at_the_target_early_is_evaluated_when_it_may_stop() -> None:
    stop = Stop.at_target(Target(accuracy=0.9, min_rounds=50), 2)
    assert stop.next_evaluation(torch.tensor([0.95, 0.89]), torch.ones(1), 20).tolist() == [50, 21]
    assert not stop.reached(torch.tensor([0.95, 0.95]), 49).any()
    assert stop.reached(torch.tensor([0.95, 0.89]), 50).tolist() == [True, False]


def test_every_seed_is_evaluated_when_it_may_first_stop() -> None:
    stop = Stop.at_target(Target(accuracy=0.9, min_rounds=50), 1)
    assert stop.next_evaluation(torch.tensor([0.1]), torch.ones(1), 40).tolist() == [50]


def test_no_evaluation_after_the_last_round() -> None:
    stop = Stop.at_target(Target(accuracy=0.9, min_rounds=0, max_rounds=30), 1)
    assert stop.next_evaluation(torch.tensor([0.1]), torch.ones(1), 25).tolist() == [30]


def test_the_paper_code_evaluates_at_multiples_and_never_less_often_again() -> None:
    """Target 0.9, 7 rounds done. Best so far 0.84: every 20; 0.86: 10; 0.88: 5; 0.892: 2, whatever the last accuracy
    is. 0.896, or beyond the target: every 1, of which none decides anything before the minimum, 50 or 46 rounds."""
    stop = Stop.at_target(Target(accuracy=0.9, min_rounds=50, schedule="released"), 6)
    best = torch.tensor([0.84, 0.86, 0.88, 0.892, 0.896, 0.95])
    assert stop.next_evaluation(torch.zeros(6), best, 7).tolist() == [20, 10, 10, 8, 50, 50]
    counted = stop.counting(torch.tensor([0, 4, 4, 4, 4, 4]))  # multiples of the rounds that are said to be done
    assert counted.next_evaluation(torch.zeros(6), best, 7).tolist() == [20, 16, 11, 8, 46, 46]
    assert stop.next_evaluation(torch.zeros(6), best, 51).tolist() == [60, 60, 55, 52, 52, 52]


def released_rounds(curve: list[int], target: int, shift: int) -> list[int]:
    """The evaluated rounds of the paper's code, in plain loops: `curve[t]` is the accuracy after t rounds, in
    thousandths; `shift` rounds are said to be done before; the last evaluated round is where it ends. Where every round
    is evaluated, those before the minimum are left out, as they decide nothing.
    """
    every, evaluated = 20, []
    for done in range(shift, len(curve)):
        if done % every or (every == 1 and done < 50):
            continue
        evaluated.append(done - shift)
        missing = target - curve[done]
        if missing <= 0 and done >= 50:
            break
        limits = ((5, 1), (10, min(every, 2)), (25, min(every, 5)), (50, min(every, 10)))
        every = next((rounds for limit, rounds in limits if missing <= limit), every)
    return evaluated


@given(st.lists(st.integers(700, 1000), min_size=80, max_size=160), st.integers(0, 30))
def test_the_schedule_of_the_paper_code(curve: list[int], shift: int) -> None:
    rule = Stop.at_target(Target(accuracy=0.9, min_rounds=50, max_rounds=len(curve), schedule="released"), 1)
    stop, best, number, evaluated = rule.counting(torch.tensor([shift])), torch.zeros(1), 0, []
    if shift % 20:  # a run of ours is evaluated at its start; the code at the first multiple
        number = 20 - shift % 20
    while number + shift < len(curve):
        accuracy = torch.tensor([curve[number + shift] / 1000 + 1e-6])
        evaluated.append(number)
        if bool(stop.reached(accuracy, number)):
            break
        best = best.maximum(accuracy)
        number = int(stop.next_evaluation(accuracy, best, number))
    assert evaluated == released_rounds(curve, 900, shift)


def test_a_budget_is_never_overdrawn() -> None:
    """100 steps at 30 a round are 3 rounds, 29 are none."""
    stop = Stop.at_budget(torch.tensor([100, 29]), torch.tensor([30, 30]))
    assert stop.max_rounds.tolist() == [3, 0]
    assert not stop.reached(torch.ones(2), 3).any()


def test_a_budget_may_end_at_the_target() -> None:
    """100 steps at 30 a round are 3 rounds; 60 at 40 a round are one. The minimum is the target's, or the budget's."""
    target = Target(accuracy=0.9, min_rounds=2, max_rounds=9, schedule="released")
    stop = Stop.at_budget(torch.tensor([100, 29]), torch.tensor([30, 30]), target)
    assert stop.reached(torch.tensor([0.95, 0.95]), 1).tolist() == [False, True]
    assert stop.reached(torch.tensor([0.95, 0.85]), 2).tolist() == [True, False]
    left = stop.after(torch.tensor([40, 0])).with_spares(torch.tensor([10, 0]))
    assert left.max_rounds.tolist() == [1, 0]
    assert (left.target, left.min_rounds, left.schedule) == (0.9, 2, "released")
    assert not left.must_reach
    assert Stop.at_target(target, 1).must_reach
    joined = stop.joined([stop, left])
    assert (joined.max_rounds.tolist(), joined.must_reach) == ([3, 0, 1, 0], False)


def test_rounds_that_count_as_done() -> None:
    """A minimum of 50 and a maximum of 60, with 20 and 55 rounds counted: 30 to 40 rounds, and 0 to 5."""
    counted = torch.tensor([20, 55])
    stop = Stop.at_target(Target(accuracy=0.9, min_rounds=50, max_rounds=60), 2).counting(counted)
    assert stop.least.tolist() == [30, 0]
    assert stop.max_rounds.tolist() == [40, 5]
    assert stop.reached(torch.tensor([0.95, 0.95]), 0).tolist() == [False, True]
    assert stop.next_evaluation(torch.tensor([0.95, 0.1]), torch.ones(1), 0).tolist() == [30, 5]


def test_a_budget_does_not_count_them() -> None:
    stop = Stop.at_budget(torch.tensor([100]), torch.tensor([30]))
    assert stop.counting(torch.tensor([2])).max_rounds.tolist() == [3]


def test_rules_of_several_trainings_in_one() -> None:
    rule = Stop.at_target(Target(accuracy=0.9, min_rounds=5, max_rounds=9), 1)
    joined = rule.joined([rule, rule.counting(torch.tensor([2]))])
    assert joined.max_rounds.tolist() == [9, 7]
    assert joined.least.tolist() == [5, 3]


def test_a_run_that_no_accuracy_ends_is_evaluated_rarely() -> None:
    rule = Stop(None, 0, torch.tensor([450, 1000]), schedule="rare")
    nothing = torch.zeros(2)
    assert rule.next_evaluation(nothing, nothing, 0).tolist() == [200, 200]
    assert rule.next_evaluation(nothing, nothing, 400).tolist() == [450, 600]
