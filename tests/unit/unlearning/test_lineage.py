"""The lineage: the paper's own three-request example, sensitivity along branches, and what may be read."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sifu.certificate.rules import PRESETS, Rules
from sifu.certificate.sensitivity import accumulate
from sifu.config.certificate import Certificate
from sifu.contract.world import SCENARIO, World, masks
from sifu.errors import SifuError
from sifu.federation.segment import Segment, Trace
from sifu.plan.variants import build_method
from sifu.unlearning.branch_sensitivity import accumulate_branches, round_factors
from sifu.unlearning.history import History
from sifu.unlearning.kept import Kept
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.node import Node


def branch(rounds: int) -> Segment:
    """A segment of which only the number of rounds matters."""
    whole = World.make(seeds=range(1)).lineage.segments[0]
    return replace(whole, rounds=torch.tensor([rounds]))


def kept(history: Lineage) -> list[int]:
    return [int(rounds) for rounds in history.kept]


def node(branch_number: int, round_number: int) -> Node:
    return Node(torch.tensor([branch_number]), torch.tensor([round_number]))


def test_the_papers_figure() -> None:
    """N_0 = 10, T_1 = 4; N_1 = 6, T_2 = 3; then T_3 = 2 < T_2 on branch 1: H(3) drops branch 2."""
    world = World.make(seeds=range(1))
    history = Lineage(world.lineage.engine, (branch(10),), (torch.tensor([10]),))
    history = history.grow(node(0, 4), branch(6))
    assert kept(history) == [4, 6]
    history = history.grow(node(1, 3), branch(3))
    assert kept(history) == [4, 3, 3]
    history = history.grow(node(1, 2), branch(3))
    assert kept(history) == [4, 2, -1, 3]
    assert int(history.end.branch) == 3


def measured(distances: list[float], available: torch.Tensor) -> Segment:
    """A segment in which client 0 takes part alone with client 6 in every round, at the given distances."""
    rounds = len(distances)
    whole = World.make(seeds=range(1)).lineage.segments[0]
    cohort = torch.tensor([0, 6, -1]).expand(1, rounds, 3)
    far = torch.tensor(distances).view(1, rounds, 1) * torch.tensor([1.0, 0.0, 0.0])
    trace = Trace(cohort, far, far, far.unsqueeze(-1), far.sum(2))
    return replace(whole, rounds=torch.tensor([rounds]), trace=trace, available=available)


def test_the_papers_figure_from_its_sensitivities() -> None:
    """Client 0 among 7 (8 of 46 examples): odds 8/38 a unit of distance.

    Psi in such units: branch 0: 0 1 2 3 4; branch 1 (from T_1 = 2): 2 2.5 3 3.5; branch 2 (from T_2 = 2): 3 6. Then
    Psi* = 2.7 cuts branch 1 after T_3 = 1 and drops branch 2.
    """
    world = World.make(seeds=range(1))
    everyone = torch.ones(1, 7, dtype=torch.bool)
    client = torch.arange(7).unsqueeze(0) == 0
    first, second, third = (measured(d, everyone) for d in ([1.0] * 4, [0.5] * 3, [3.0]))
    history = Lineage(world.lineage.engine, (first,), (first.rounds,)).grow(node(0, 2), second).grow(node(1, 2), third)
    unit = 8 / 38
    psi = history.sensitivity(client, PRESETS["published"], 1.0)
    for found, expected in zip(psi, ([0, 1, 2, 3, 4], [2, 2.5, 3, 3.5], [3, 6]), strict=True):
        torch.testing.assert_close(found[0], unit * torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=0)
    cut = history.last_at_most(psi, 2.7 * unit)
    assert (int(cut.branch), int(cut.round)) == (1, 1)
    grown_on = history.grow(cut, third)
    assert kept(grown_on) == [2, 1, -1, 1]
    last = grown_on.sensitivity(client, PRESETS["published"], 1.0)[3]  # goes on from 2.5, not from the dropped branch
    torch.testing.assert_close(last[0], unit * torch.tensor([2.5, 5.5], dtype=torch.float64), rtol=1e-6, atol=0)


def test_a_round_in_which_nobody_trains_does_not_contract() -> None:
    """B^K = 1/2 and increments 4, 2, 1; the second cohort is empty.

    Of one client: 4, then 4 + 2 (nobody trains), then 6 / 2 + 1 = 4. Of all clients, without whom nobody ever trains:
    4, 4 + 2, 6 + 1. On the branch that grows from the second node: 6 / 2 + 4 = 7, 7 + 2, 9 / 2 + 1.
    """
    world = World.make(seeds=range(1))
    everyone = torch.ones(1, 7, dtype=torch.bool)
    whole = measured([4.0, 2.0, 1.0], everyone)
    cohort = whole.trace.cohort.clone()
    cohort[0, 1] = -1
    segment = replace(whole, trace=replace(whole.trace, cohort=cohort))
    history = Lineage(world.lineage.engine, (segment,), (segment.rounds,)).grow(node(0, 2), segment)
    sets = [torch.arange(7).unsqueeze(0) == 0, everyone]
    increments = torch.tensor([4.0, 2.0, 1.0], dtype=torch.float64).view(1, 3, 1).expand(1, 3, 2)
    branches = history.branches
    training, later = accumulate_branches(branches, [increments] * 2, round_factors(branches, sets, 0.5), reset=False)
    assert training[0].T.tolist() == [[0, 4, 6, 4], [0, 4, 6, 7]]
    assert later[0].T.tolist() == [[6, 7, 9, 5.5], [6, 10, 12, 13]]
    assert round_factors(branches, sets, 1.0) == 1.0, "nothing is drawn again where B = 1"
    assert round_factors(branches, sets, 1.5) == 1.5, "a round that nobody trains in is within this"


def test_without_anybody_psi_bounds_the_way_from_the_start() -> None:
    """Without all clients the model stays at theta_0^0: alpha is the way from there, at most the sum of all steps. A
    factor of 1/2 on every round would say less.
    """
    lineage = World.make(seeds=range(1)).lineage
    everyone = torch.ones(1, 7, dtype=torch.bool)
    psi = lineage.refilled([everyone], 0.5)[0][0, :, 0]
    rounds = range(int(lineage.kept[0]) + 1)
    alpha = torch.stack([(lineage.at(torch.tensor([n])) - lineage.start).double().norm() for n in rounds])
    assert (alpha <= psi * (1 + 1e-4)).all()
    halved = accumulate(psi.diff().view(1, -1), 0.5)[0]
    assert (alpha > halved * (1 + 1e-4)).any()


def test_the_cut_is_the_last_node_that_fits() -> None:
    """Psi of three branches; 2 of the first, 1 of the second are left. The last value of at most 5 is on branch 1."""
    world = World.make(seeds=range(1))
    rounds = (torch.tensor([2]), torch.tensor([1]), torch.tensor([2]))
    history = Lineage(world.lineage.engine, (branch(3), branch(2), branch(2)), rounds)
    psi = [torch.tensor([[0.0, 1, 2, 9]]), torch.tensor([[2.0, 5, 4]]), torch.tensor([[5.5, 6, 7]])]
    cut = history.last_at_most(psi, 5.0)
    assert (int(cut.branch), int(cut.round)) == (1, 1)
    assert float(history.value_at(psi, cut)) == 5.0
    assert float(history.value_at(psi, history.nowhere)) == 0.0


def test_psi_need_not_be_monotone() -> None:
    """With B < 1 Psi decays between visits: the cut is the last node below Psi*, not the one before the first above."""
    world = World.make(seeds=range(1))
    history = Lineage(world.lineage.engine, (branch(5),), (torch.tensor([5]),))
    cut = history.last_at_most([torch.tensor([[0.0, 3, 7, 4, 2, 6]])], 4.5)
    assert int(cut.round) == 4


def test_seeds_cut_at_different_nodes() -> None:
    world = World.make(seeds=range(2))
    segment = world.lineage.segments[0]
    history = Lineage(world.lineage.engine, (segment,), (segment.rounds,))
    psi = torch.tensor([[0.0, 1, 2, 3, 4, 5, 6, 7, 8], [0.0, 4, 4, 4, 9, 9, 9, 9, 9]])
    assert history.last_at_most([psi], 4.0).round.tolist() == [4, 3]
    assert history.last_at_most([psi], torch.tensor([1.0, 9.0])).round.tolist() == [1, 8]


def grown() -> tuple[World, Lineage]:
    """A training, gone back to its third round, and a second branch of four rounds."""
    world = World.make()
    answers = world.answer(build_method("sifu", {}, SCENARIO.certificate), masks(7, 3)[:1])
    return world, world.lineage.grow(answers[0].unlearned.node, answers[0].unlearned.segment)


def test_psi_goes_on_along_the_lineage_or_starts_again() -> None:
    _, history = grown()
    clients = masks(7, 3)[1]
    published = history.sensitivity(clients, PRESETS["published"], 1.0)
    released = history.sensitivity(clients, PRESETS["released"], 1.0)
    at_cut = published[0][torch.arange(3), history.kept[0]]
    torch.testing.assert_close(published[1][:, 0], at_cut)
    assert (released[1][:, 0] == 0).all()
    assert (published[1][:, -1] >= released[1][:, -1]).all()


@pytest.mark.parametrize("weight", ["share", "cohort"])
def test_exact_sets_lie_between_nothing_and_their_bound(weight: str) -> None:
    world = World.make()
    for clients in masks(7, 3):
        exact, bound = (
            world.lineage.sensitivity(clients, Rules(weight, sets, "accumulate", "analytic"), 1.0)[0]
            for sets in ("exact", "bound")
        )
        assert (exact <= bound * (1 + 1e-5) + 1e-9).all()
        if int(clients.sum(1)[0]) == 1:  # of a single client the bound is exact
            torch.testing.assert_close(exact, bound, rtol=1e-4, atol=1e-7)
        assert float(exact.max()) > 0


def test_going_back_is_exact() -> None:
    _, history = grown()
    rounds = torch.tensor([1, 2, 0])
    second = torch.ones(3, dtype=torch.int64)
    expected = torch.stack(
        [history.segments[1].snapshots[0, 0], history.segments[1].snapshots[1, 1], history.segments[1].start[2]]
    )
    assert torch.equal(history.at(rounds, second), expected)


def test_dropped_rounds_are_gone() -> None:
    _, history = grown()
    beyond = history.kept[0] + 1
    with pytest.raises(SifuError, match="no longer part of the lineage"):
        history.at(beyond.clamp(max=8))


def test_only_declared_traces_can_be_read() -> None:
    history = History(World.make().lineage, frozenset({Kept.SCALARS}))
    history.sensitivity(masks(7, 3)[0], PRESETS["empty_seats"], 1.0)
    with pytest.raises(SifuError, match=r"reads models without declaring it: add Kept\.MODELS"):
        history.at(history.early(0))
    with pytest.raises(SifuError, match=r"Kept\.COHORTS"):
        history.visits(masks(7, 3)[0])
    with pytest.raises(SifuError, match=r"Kept\.PRODUCTS"):
        history.sensitivity(masks(7, 3)[0], PRESETS["strict"], 1.0)
    with pytest.raises(SifuError, match=r"Kept\.UPDATES"):
        history.sensitivity(masks(7, 3)[0], Rules("share", "exact", "accumulate", "classical"), 1.0)


def certificate(sigma: float, **changes: object) -> Certificate:
    return Certificate(sigma=sigma, **changes)  # type: ignore[arg-type]


def test_sifu_without_noise_goes_back_to_before_the_forgotten_clients() -> None:
    """Psi* = 0: the last model that none of them has touched. Where they came in round 1, that is scratch."""
    world = World.make()
    quiet = world.answer(build_method("sifu", {}, certificate(0.0)))
    exact = world.answer(build_method("exact_rollback", {}, certificate(0.0)))
    scratch = world.answer(build_method("scratch", {}, certificate(0.0)))
    for a, b, c in zip(quiet, exact, scratch, strict=True):
        assert torch.equal(a.unlearned.segment.final, b.unlearned.segment.final)
        at_start = (a.unlearned.node.branch == 0) & (a.unlearned.node.round == 0)
        assert torch.equal(a.unlearned.segment.final[at_start], c.unlearned.segment.final[at_start])
    clients = torch.ones(3, 7, dtype=torch.bool)
    clients[:, 6] = False  # all but one leave: somebody of them is in every first cohort of three
    quiet, scratch = (world.answer(build_method(name, {}, certificate(0.0)), [clients]) for name in ("sifu", "scratch"))
    assert torch.equal(quiet[0].unlearned.segment.final, scratch[0].unlearned.segment.final)


def test_sifu_with_endless_noise_does_not_go_back() -> None:
    world = World.make()
    (answer, *_) = world.answer(build_method("sifu", {}, certificate(1e6)))
    assert torch.equal(answer.unlearned.node.branch, world.lineage.end.branch)
    assert torch.equal(answer.unlearned.node.round, world.lineage.end.round)


def test_sifu_as_the_paper_says() -> None:
    """n_u is the last with Psi <= Psi*; the start is that model plus sigma times the keyed noise."""
    from sifu.core.keys import Keys

    world = World.make()
    setting = certificate(0.02)
    (answer, *_) = world.answer(build_method("sifu", {}, setting))
    claim, cut = answer.unlearned.promise, answer.unlearned.node
    assert claim is not None
    limit = 10 * 0.02 / (2 * torch.log(torch.tensor(125.0))).sqrt()  # eps sigma / sqrt(2 ln(1.25 / delta))
    torch.testing.assert_close(claim.psi_star, limit.double().expand(3), rtol=1e-6, atol=0)
    psi = world.lineage.sensitivity(answer.request.forget, PRESETS["published"], 1.0)[0]
    for s in range(3):
        fits = [n for n in range(9) if psi[s, n] <= claim.psi_star[s]]
        assert int(cut.round[s]) == max(fits)
    noise = Keys.of(range(3)).fold("unlearn", "request", 1, "noise").normal(7850)
    expected = world.lineage.at(cut.round) + 0.02 * noise.float()
    torch.testing.assert_close(answer.unlearned.segment.start, expected)


def test_a_methods_own_contraction_counts() -> None:
    """B = 0.5, K = 2: older rounds count a quarter each, so Psi and with it the noise of `last` are smaller."""
    world = World.make()
    psi = {}
    for contraction in (1.0, 0.5):
        (answer, *_) = world.answer(build_method("last", {}, certificate(0.0, contraction=contraction)))
        assert answer.unlearned.promise is not None
        expected = world.lineage.sensitivity(answer.request.forget, PRESETS["published"], contraction**2)
        torch.testing.assert_close(answer.unlearned.promise.psi, expected[0][:, -1])
        psi[contraction] = answer.unlearned.promise.psi
    assert (psi[0.5] < psi[1.0]).all()


def test_last_takes_the_noise_that_its_sensitivity_needs() -> None:
    world = World.make()
    (answer, *_) = world.answer(build_method("last", {}, certificate(0.0)))
    claim = answer.unlearned.promise
    assert claim is not None
    expected = claim.psi * (2 * torch.log(torch.tensor(125.0, dtype=torch.float64))).sqrt() / 10
    torch.testing.assert_close(claim.sigma, expected)
    assert torch.equal(answer.unlearned.node.round, world.lineage.end.round)


def test_strict_certificates_hold_and_published_ones_are_told_the_truth() -> None:
    world = World.make()
    for preset, holds in (("strict", True), ("published", False)):
        for answer in world.answer(build_method("last", {}, certificate(0.0, preset=preset))):
            assert answer.worth is not None
            epsilon, delta = answer.worth.actual
            if holds:
                assert (delta <= 0.01 * (1 + 1e-6)).all()
                assert (epsilon <= 10 * (1 + 1e-6)).all()
            else:
                assert (delta > 0.01).all()
