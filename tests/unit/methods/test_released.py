"""Methods "as released" give what the released code gives, value by value over three requests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
import torch

from sifu.certificate.rules import PRESETS
from sifu.config.certificate import Certificate
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.stop import Stop
from sifu.plan.variants import build_method
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.request import Request, client_mask
from sifu.unlearning.sequence import Answer, answer_requests
from tests import released
from tests.conftest import tiny_clients, tiny_engine
from tests.released import Done, Plain

SEEDS, CLIENTS = 4, 9
REQUESTS = [[0, 3], [1, 4], [2, 7]]  # 5, 6 and 8 remain: as many as are sampled
ROUNDS = [16, 8, 8, 8]
FEDERATION = {"clients_per_round": 3, "local_steps": 5, "batch_size": 4, "client_lr": 0.02, "momentum": 0.9}
CERTIFICATE = Certificate(sigma=0.05, epsilon=10.0, preset="released")
halves = pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, SEEDS), marks=pytest.mark.second)], ids=str)
FED_ERASER_LEAST = 14  # rounds that a recovery takes, calibration counted


@cache
def federation(privacy: float | None = None) -> tuple[Engine, Scenario]:
    """Clients with as many examples each; `privacy`: DP-FedAvg's C."""
    engine = tiny_engine(clients=tiny_clients(seeds=SEEDS, sizes=(6,) * CLIENTS), **FEDERATION)
    scenario = replace(
        SCENARIO,
        federation=engine.federation,
        partition=replace(SCENARIO.partition, num_clients=CLIENTS),
        certificate=CERTIFICATE,
    )
    if privacy is not None:
        method = build_method("dp_fedavg", {"clip": privacy}, CERTIFICATE)
        scenario = method.training(scenario)  # type: ignore[attr-defined]
        engine = replace(engine, federation=scenario.federation)
    return engine, scenario


def plain(seed: int, rounds: list[int] = ROUNDS) -> Plain:
    engine, _ = federation()
    keys = Keys.of([seed])
    start, clients = engine.model.init(keys)[0], engine.clients
    data = clients.images[seed], clients.labels[seed]
    return Plain(
        engine.model.module, start, *data, engine.federation, keys.rows(0), REQUESTS, rounds, CERTIFICATE.epsilon
    )


@cache
def trained(rounds: int = ROUNDS[0], privacy: float | None = None) -> Lineage:
    """The training of all seeds."""
    engine, _ = federation(privacy)
    keys = Keys.of(range(SEEDS))
    everyone = torch.ones(SEEDS, CLIENTS, dtype=torch.bool)
    stop = Stop(None, 0, torch.full((SEEDS,), rounds))
    return Lineage.of(engine, engine.run(engine.model.init(keys), everyone, keys.fold("train"), stop, snapshot_every=4))


@cache
def plain_sifu(seed: int, sigma: float) -> list[Done]:
    """SIFU's transcript."""
    return released.sifu(plain(seed), sigma)


def answers(
    name: str,
    settings: dict[str, object],
    certificate: Certificate = CERTIFICATE,
    *,
    privacy: float | None = None,
    stop: Stop | None = None,
    rounds: int = ROUNDS[0],
) -> list[Answer]:
    """What a method of the suite answers; a recovery takes as many rounds as in the transcript."""
    lineage, (_, scenario) = trained(rounds, privacy), federation(privacy)
    forget = [client_mask(clients, CLIENTS).expand(SEEDS, -1) for clients in REQUESTS]

    def stop_rule(request: Request) -> Stop:
        return stop or Stop(None, 0, torch.full((SEEDS,), ROUNDS[request.number]))

    method = build_method(name, settings, certificate)
    keys = Keys.of(range(SEEDS)).fold("unlearn")
    return answer_requests(method, lineage, forget, scenario, stop_rule, keys)


def assert_same_weights(found: list[Answer], seed: int, expected: list[Done]) -> None:
    """The models that recoveries begin and end with."""
    for answer, done in zip(found, expected, strict=True):
        segment = answer.unlearned.segment
        for one, other in ((segment.start[seed], done.start), (segment.final[seed], done.final)):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-5)


@halves
@pytest.mark.parametrize("sigma", [0.05, *(pytest.param(sigma, marks=pytest.mark.long) for sigma in (0.04, 0.07))])
def test_sifu(sigma: float, seeds: range) -> None:
    """Psi* is 0.23, 0.18 and 0.32. No client crosses it in the first round of a later branch."""
    certificate = replace(CERTIFICATE, sigma=sigma)
    found = answers("sifu", {}, certificate)
    for seed in seeds:
        expected = plain_sifu(seed, sigma)
        for answer, done in zip(found, expected, strict=True):
            node, promise = answer.unlearned.node, answer.unlearned.promise
            assert promise is not None
            assert (int(node.branch[seed]), int(node.round[seed])) == (done.cut[0], done.checkpoint)
            assert float(promise.psi[seed]) == pytest.approx(done.psi, rel=1e-3)  # type: ignore[index]
            assert float(promise.sigma[seed]) == sigma
            assert promise.delta == pytest.approx(1 / CLIENTS)
        assert_same_weights(found, seed, expected)


@pytest.mark.long
def test_sifu_is_tried_where_it_matters() -> None:
    """The cases above have requests that go back to an older branch and requests that do not, checkpoints later than
    the cut, and one of a round that an earlier request had dropped.
    """
    cases = [plain_sifu(seed, sigma) for sigma in (0.04, 0.05, 0.07) for seed in range(SEEDS)]
    later = [(number, done) for case in cases for number, done in enumerate(case[1:], start=1)]
    assert sum(done.cut[0] < number for number, done in later) >= 5
    assert sum(done.cut[0] == number for number, done in later) >= 5
    assert sum(done.cut[1] < done.checkpoint for case in cases for done in case) >= 3
    again = [(one, other) for case in cases for one, other in pairwise(case) if one.cut[0] == other.cut[0]]
    assert any(other.checkpoint > one.checkpoint for one, other in again)
    assert all(done.checkpoint > 0 for case in cases for done in case)


def test_the_cut_itself_is_that_of_the_code() -> None:
    """The node that is cut, next to the one that is restored, over all requests."""
    sigma = 0.05
    found = answers("sifu", {}, replace(CERTIFICATE, sigma=sigma))
    segments = [answer.unlearned.segment for answer in found]
    expected = [plain_sifu(seed, sigma) for seed in range(SEEDS)]
    lineage = None
    for number, clients in enumerate(REQUESTS):
        lineage = trained() if lineage is None else lineage.grow(found[number - 1].unlearned.node, segments[number - 1])
        forget = client_mask(clients, CLIENTS).expand(SEEDS, -1)
        limit = sigma / plain(0).noise_factor
        cut = lineage.released_cut(forget, PRESETS["released"], 1.0, limit).cut
        nodes = list(zip(cut.branch.tolist(), cut.round.tolist(), strict=True))
        assert nodes == [case[number].cut for case in expected]


@halves
def test_last(seeds: range) -> None:
    found = answers("last", {"clients": "all"})
    for seed in seeds:
        expected = released.last(plain(seed))
        for answer, done in zip(found, expected, strict=True):
            promise = answer.unlearned.promise
            assert promise is not None
            assert float(promise.psi[seed]) == pytest.approx(done.psi, rel=1e-3)  # type: ignore[index]
            assert float(promise.sigma[seed]) == pytest.approx(done.sigma, rel=1e-3)
        assert_same_weights(found, seed, expected)


def test_last_hides_more_than_the_forgotten_clients() -> None:
    """Somewhere the largest Psi is that of a client that remains: otherwise the test above would not see it."""
    everyone, forgotten = (answers("last", {"clients": clients}) for clients in ("all", "forgotten"))
    for one, other in zip(everyone, forgotten, strict=True):
        first, second = one.unlearned.promise, other.unlearned.promise
        assert first is not None
        assert second is not None
        assert (first.sigma > 1.01 * second.sigma).any()


@halves
def test_fed_accum(seeds: range) -> None:
    found = answers("fed_accum", {"as_released": True})
    for seed in seeds:
        assert_same_weights(found, seed, released.fed_accum(plain(seed)))


@halves
@pytest.mark.parametrize("count", [pytest.param(27, marks=pytest.mark.long), 30])
def test_fed_eraser(count: int, seeds: range) -> None:
    """K = 5, so that r K = 2.5 is rounded down to 2, and a past round counts 2 / (2 x 5) = 0.2 of a round.

    Counted before recovery: of 27 rounds 5, of 30 rounds 6. The former begins with an odd count, so that recovery is
    calibrated in its second, fourth, ... round. Recoveries are at their target at once.
    """
    stop = Stop(0.0, FED_ERASER_LEAST, torch.full((SEEDS,), 1000))
    found = answers("fed_eraser_released", {}, stop=stop, rounds=count)
    rounds = [count, 0, 0, 0]
    for seed in seeds:
        expected = released.fed_eraser(plain(seed, rounds), FED_ERASER_LEAST)
        first = count // 5
        assert int(found[0].unlearned.segment.rounds[seed]) == FED_ERASER_LEAST - first
        for answer, done in zip(found, expected, strict=True):
            assert int(answer.counted_rounds[seed]) == done.counted
        assert_same_weights(found, seed, expected)


def test_what_fed_eraser_costs_is_counted_by_the_engine() -> None:
    """Every calibration round is a round, its clients take 2 steps, those of a recovery 5."""
    stop = Stop(0.0, FED_ERASER_LEAST, torch.full((SEEDS,), 1000))
    answer, *_ = answers("fed_eraser_released", {}, stop=stop, rounds=27)
    recovered = answer.unlearned.segment.rounds  # [S]
    trace = trained(27).segments[0].trace.cohort[:, ::2]  # [S, 14, m]
    forgotten = torch.isin(trace, torch.tensor(REQUESTS[0]))
    calibrations = (~forgotten).any(2).sum(1)
    assert torch.equal(answer.work.rounds, calibrations + recovered)
    assert torch.equal(answer.work.client_steps, 2 * (~forgotten).sum((1, 2)) + 15 * recovered)


def test_fed_eraser_past_its_maximum() -> None:
    """A maximum of 8 with 5 rounds counted leaves 3."""
    stop = Stop(2.0, 4, torch.full((SEEDS,), 8))
    answer, *_ = answers("fed_eraser_released", {}, stop=stop, rounds=27)
    assert answer.unlearned.segment.rounds.tolist() == [3] * SEEDS


@halves
def test_dp(seeds: range) -> None:
    clip = 0.3
    found = answers("dp_fedavg", {"clip": clip}, privacy=clip)
    for seed in seeds:
        expected = released.dp(plain(seed), clip)
        for answer, done in zip(found, expected, strict=True):
            promise = answer.unlearned.promise
            assert promise is not None
            assert float(promise.sigma[seed]) == pytest.approx(done.sigma)
            assert promise.delta == pytest.approx(1 / CLIENTS)
        assert_same_weights(found, seed, expected)


def test_what_is_not_repeated_of_sifu() -> None:
    """The code's list of checkpoints is behind its branches from the second request on: a client that crosses Psi* in
    the first round of branch 2 gets the first model of branch 1. Here it gets that of branch 2.
    """
    sigma = 0.02
    expected = plain_sifu(0, sigma)
    assert (expected[2].cut, expected[2].checkpoint) == ((2, 0), 0)
    found = answers("sifu", {}, replace(CERTIFICATE, sigma=sigma))
    assert_same_weights(found[:2], 0, expected[:2])
    noise = sigma * plain(0).noise(3)
    begun = found[2].unlearned.segment.start[0]
    torch.testing.assert_close(expected[2].start, expected[0].start + noise)
    torch.testing.assert_close(begun, found[1].unlearned.segment.start[0] + noise)
