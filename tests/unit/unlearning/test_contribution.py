"""What clients contributed to past rounds, against a plain loop over seeds, rounds and clients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.contract.world import World, masks
from sifu.methods.exact_rollback import ExactRollback
from sifu.methods.fine_tuning import FineTuning
from sifu.unlearning.contribution import contributions, last_contribution, last_updates
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.request import Request

Plain = list[tuple[int, Tensor, Tensor, float]]  # rounds: (seed, mean of all, mean of the remaining, share)


def plain_loop(lineage: Lineage, request: Request) -> list[Plain]:
    """Every round of the lineage, client by client, from what each sent."""
    size, rounds = lineage.engine.clients.size, []
    for branch, (segment, kept) in enumerate(zip(lineage.segments, lineage.kept, strict=True)):
        for number in range(int(kept.max())):
            past, found = PastRound.of(segment, branch, number, kept), []
            before = lineage.engine.replay(segment, segment.rounds.clamp(max=number))
            sent = train_again(lineage.engine, before, past)
            for s in range(len(kept)):
                means = []
                for mask in (request.remain | request.forget, request.remain):
                    who = [(j, c) for j, c in enumerate(past.cohort[s].tolist()) if c >= 0 and mask[s, c]]
                    total = sum(int(size[s, c]) for _, c in who)
                    update = sum(
                        (int(size[s, c]) / total * (sent.local[s, j] - before[s]) for j, c in who),
                        torch.zeros_like(before[s]),
                    )
                    means.append((update, total))
                (both, n), (remaining, rest) = means
                found.append((s, both, remaining, 1 - rest / n if n else 0.0))
            rounds.append(found)
    return rounds


def after(method: Method) -> tuple[Lineage, Request]:
    """A lineage after one request, and the next one: the clients of both took part in the training."""
    world = World.make()
    first, second, _ = masks(7, 3)
    (answer,) = world.answer(method, [first])
    lineage = world.lineage.grow(answer.unlearned.node, answer.unlearned.segment)
    return lineage, Request.of(2, second, lineage.segments[-1].available)


def training() -> tuple[Lineage, Request]:
    lineage = World.make().lineage
    return lineage, Request.of(1, masks(7, 3)[1], lineage.segments[0].available)


CASES = {
    "a training": training,
    "after fine-tuning": lambda: after(FineTuning()),
    "after a roll-back": lambda: after(ExactRollback()),
}


@pytest.mark.parametrize("case", CASES)
def test_every_round_as_in_the_plain_loop(case: str) -> None:
    lineage, request = CASES[case]()
    rounds, expected = list(contributions(lineage, request)), plain_loop(lineage, request)
    assert len(rounds) == len(expected)
    last = dict.fromkeys(range(3))
    for found, plain in zip(rounds, expected, strict=True):
        for s, both, remaining, share in plain:
            torch.testing.assert_close(found.together[s], both, rtol=1e-4, atol=1e-6)
            torch.testing.assert_close(found.remaining[s], remaining, rtol=1e-4, atol=1e-6)
            assert float(found.share[s]) == pytest.approx(share)
            if share:
                last[s] = (both, remaining, share)  # type: ignore[assignment]
    found = last_contribution(lineage, request)
    for s in range(3):
        if last[s] is None:
            assert float(found.share[s]) == 0.0
            assert not found.residual[s].any()
        else:
            both, remaining, share = last[s]  # type: ignore[misc]
            torch.testing.assert_close(found.residual[s], both - remaining, rtol=1e-3, atol=1e-6)
            torch.testing.assert_close(found.part[s], both - (1 - share) * remaining, rtol=1e-3, atol=1e-6)
            torch.testing.assert_close(found.forgotten[s] * share, found.part[s], rtol=1e-3, atol=1e-6)


def plain_last_updates(lineage: Lineage, request: Request, s: int) -> Tensor:
    """Seed s: of each client to forget what it sent in the last round that had it, by examples."""
    size, engine, sent = lineage.engine.clients.size[s].tolist(), lineage.engine, {}
    for branch, (segment, kept) in enumerate(zip(lineage.segments, lineage.kept, strict=True)):
        for number in range(int(kept[s])):
            past = PastRound.of(segment, branch, number, kept)
            before = engine.replay(segment, segment.rounds.clamp(max=number))
            local = train_again(engine, before, past).local
            sent |= {c: local[s, j] - before[s] for j, c in enumerate(past.cohort[s].tolist())}
    gone = torch.nonzero(request.forget[s]).flatten().tolist()
    nothing = torch.zeros_like(lineage.current[s])
    return sum((size[c] * sent.get(c, nothing) for c in gone), nothing) / sum(size[c] for c in gone)


@pytest.mark.parametrize("case", ["a training", "after a roll-back"])
def test_last_updates_are_of_each_clients_own_last_round(case: str) -> None:
    """Clients 0 and 3 to forget, of different last rounds: the mean of what each sent in its own."""
    lineage, request = CASES[case]()
    found = last_updates(lineage, request)
    for s in range(3):
        torch.testing.assert_close(found[s], plain_last_updates(lineage, request, s), rtol=1e-4, atol=1e-6)
    common = last_contribution(lineage, request).forgotten  # of the last round that had any of them
    assert not torch.allclose(found, common, atol=1e-4)


def test_rounds_without_the_clients_to_forget_contribute_nothing() -> None:
    lineage, request = training()
    nobody = replace(request, forget=torch.zeros_like(request.forget), remain=request.remain | request.forget)
    for found in contributions(lineage, nobody):
        assert not found.residual.any()
        assert not found.part.any()
