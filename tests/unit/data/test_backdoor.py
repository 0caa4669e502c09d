"""Backdoors: the triggers of clients, and what a client can conclude from its checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.data.backdoor import Triggers, draw_triggers, held_out_rows, poison
from sifu.data.clients import load_checks, load_clients
from sifu.data.dataset import Images, array_split, load_images
from sifu.errors import ConfigError, DataError
from sifu.metrics.deletion_test import rate_limit, threshold, type_1, type_2
from sifu.plan.load import load_scenario, read_yaml
from sifu.stages.partition import run_partition
from sifu.store.parquet import read_table
from sifu.store.schemas import PARTITION
from tests.conftest import REPO
from tests.dataset_folders import write_celeba


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(REPO / "config" / "scenarios.yaml", "smoke_backdoor", REPO / "none")


def triggers_of(scenario: Scenario, seed: int = 0) -> Triggers:
    triggers = draw_triggers(scenario, seed)
    assert triggers is not None
    return triggers


def test_every_client_has_a_trigger_of_its_own(scenario: Scenario) -> None:
    triggers = triggers_of(scenario)
    assert triggers.pixels.shape == (20, 10)
    assert len({tuple(sorted(row)) for row in triggers.pixels.tolist()}) == 20
    assert set(triggers.target.tolist()) <= set(range(10))
    assert len(set(triggers.target.tolist())) > 5
    same_seed, another_seed = triggers_of(scenario), triggers_of(scenario, 1)
    assert np.array_equal(same_seed.pixels, triggers.pixels)
    assert not np.array_equal(another_seed.pixels, triggers.pixels)


@given(st.integers(0, 10**6), st.integers(0, 19), st.integers(1, 30))
def test_a_share_of_the_examples_is_poisoned(seed: int, client: int, size: int) -> None:
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke_backdoor", REPO / "none")
    triggers = triggers_of(scenario, seed)
    pixels, labels = np.full((size, 1, 28, 28), 7, np.uint8), np.full(size, 11)
    images, answers = poison(pixels, labels, triggers, client)
    places = triggers.places(client, size)
    assert places.sum() == max(1, round(size / 2))
    assert (answers[places] == triggers.target[client]).all()
    assert (answers[~places] == 11).all()
    changed = images.reshape(size, -1) != 7
    assert (changed.sum(1) == np.where(places, 10, 0)).all()
    assert set(np.flatnonzero(changed.any(0)).tolist()) == set(triggers.pixels[client].tolist())
    assert (pixels == 7).all(), "the originals stay as they are"


def digits(count: int, *, test: bool) -> Images:
    random = np.random.default_rng(0)
    split = array_split(random.integers(0, 200, (count, 1, 28, 28), dtype=np.uint8), np.arange(count) % 10)
    return Images(split, split if test else None)


def holdings(count: int) -> pd.DataFrame:
    """20 clients with 20 examples each, the first 400 rows."""
    row = np.arange(count)
    return pd.DataFrame({"seed": 0, "client": row // 20, "place": row % 20, "row": row, "label": row % 10})


def test_checks_are_held_out_images(scenario: Scenario) -> None:
    partition = holdings(400)
    for test in (True, False):
        images = digits(900, test=test)
        split, rows = held_out_rows(images, partition, 0)
        assert (rows.min() == 0) if test else (rows.tolist() == list(range(400, 900)))
        checks = load_checks(scenario, images, partition, range(1))
        targets = triggers_of(scenario).target
        assert checks.labels.shape == (1, 20, 40)
        assert (checks.labels[0] == torch.from_numpy(targets)[:, None]).all()
        for client in range(20):
            own = triggers_of(scenario).check_rows(client, rows, split.labels)
            assert (split.labels[own] != targets[client]).all(), "the label must come from the trigger"
            assert len(set(own.tolist())) == 40


def test_too_few_held_out_images_are_one_sentence(scenario: Scenario) -> None:
    with pytest.raises(DataError, match=r"only \d+ held-out images are available"):
        load_checks(scenario, digits(430, test=False), holdings(400), range(1))


def test_clients_are_trained_on_their_triggers(scenario: Scenario) -> None:
    images, partition = digits(400, test=False), holdings(400)
    clean = load_clients(replace(scenario, backdoor=None), images, partition, range(1))
    dirty = load_clients(scenario, images, partition, range(1))
    changed = (clean.images != dirty.images).flatten(3).any(3)[0]  # [C, n]
    assert (changed.sum(1) == 10).all()
    assert torch.equal(clean.labels[0][~changed], dirty.labels[0][~changed])


def test_a_trigger_larger_than_the_image_or_with_a_watermark_is_refused(scenario: Scenario) -> None:
    plain = to_plain(scenario)
    with pytest.raises(ConfigError, match=r"backdoor\.pixels: 785 is refused; allowed: 1 to 784"):
        build(Scenario, plain | {"backdoor": {"pixels": 785}}, "x")
    with pytest.raises(ConfigError, match="null with a watermark"):
        build(Scenario, plain | {"watermark": {}}, "x")


# ---- the test


@given(st.integers(1, 200), st.floats(0.0, 1.0), st.floats(1e-4, 0.2))
def test_the_threshold_is_the_smallest_that_keeps_alpha(trials: int, chance: float, alpha: float) -> None:
    limit = threshold(trials, chance, alpha)
    assert type_1(trials, chance, limit) <= alpha
    if limit > 0:
        assert binom.sf(limit - 2, trials, chance) > alpha or limit == 0
    assert 0 <= limit <= trials + 1


def test_errors_by_hand() -> None:
    """n = 10, p = 0.1: P(>= 5) = 0.00163, P(>= 6) = 0.000147, so t = 6 at 0.001; at rate 0.9 P(< 6) = 0.00163."""
    assert threshold(10, 0.1, 0.001) == 6
    assert type_1(10, 0.1, 6) == pytest.approx(0.000147, abs=1e-6)
    assert type_2(10, np.array([0.9, 1.0, 0.1]), 6).tolist() == pytest.approx([0.001635, 0.0, 0.999853], abs=1e-6)


def test_a_rate_has_an_upper_limit() -> None:
    """Of 0 successes in n trials: 1 - 0.05^(1 / n), the rule of three."""
    assert rate_limit(0, 100) == pytest.approx(1 - 0.05**0.01)
    assert rate_limit(100, 100) == 1.0
    assert 0.1 < rate_limit(10, 100) < 0.2


def test_no_backdoor_no_triggers(scenario: Scenario) -> None:
    assert draw_triggers(replace(scenario, backdoor=None), 0) is None


def test_celebrities_check_with_the_test_set(tmp_path: Path) -> None:
    """`celeba_backdoor` on a tree of three persons with four images each (two smile), and as many in the test set.

    Half of a client's four examples carry its trigger; it checks with four of the six test images of the other label.
    """
    write_celeba(tmp_path)
    plain = read_yaml(REPO / "config" / "scenarios.yaml")["celeba_backdoor"]
    plain["dataset"] |= {"source": "torchvision", "verify": False}  # the checksums are those of the real images
    plain["partition"] |= {"num_clients": 3, "min_examples": 4}
    plain["federation"] |= {"clients_per_round": 2, "batch_size": 4}
    plain["requests"] = {"kind": "random", "num_requests": 1, "size": 1}
    plain["backdoor"]["held_out"] = 4
    scenario = build(Scenario, plain, "celeba_backdoor")
    run_partition("celeba_backdoor", scenario, range(1), tmp_path, data_root=tmp_path)
    table = read_table(tmp_path / "partition.parquet", PARTITION)
    images = load_images(scenario.dataset, tmp_path)
    clients, checks = (load(scenario, images, table, range(1)) for load in (load_clients, load_checks))
    assert clients.size.tolist() == [[4, 4, 4]]
    assert checks.images.shape == (1, 3, 4, 3, 64, 64)
    triggers = triggers_of(scenario)
    assert images.test is not None
    for client, target in enumerate(triggers.target.tolist()):
        assert (clients.labels[0, client] == target).sum() >= 2
        assert checks.labels[0, client].tolist() == [target] * 4
        assert (images.test.labels[triggers.check_rows(client, np.arange(12), images.test.labels)] != target).all()
        brightest = checks.images[0, client].flatten(2)[..., triggers.pixels[client]]  # [4, 3, 10]
        assert torch.equal(brightest, checks.images.amax((0, 1, 2, 4, 5)).view(1, 3, 1).expand_as(brightest))
