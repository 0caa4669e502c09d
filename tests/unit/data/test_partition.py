"""Properties of partitions: exact sizes, no example held twice, draws that depend on names, clear refusals."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.config.partition import Natural
from sifu.core.keys import Keys
from sifu.data.partition import Holdings, dirichlet, fit_supply, iid, natural, one_class
from sifu.errors import DataError

CLASSES = 5
PER_CLASS = 60
LABELS = np.arange(CLASSES * PER_CLASS) % CLASSES
GROUPS = np.repeat(np.arange(20), np.arange(5, 25))  # person i has i + 5 examples

SEED = st.integers(0, 10**9)
CLIENTS = st.integers(1, 15)


def key(seed: int) -> Keys:
    return Keys.of([seed]).rows(0)


def split(kind: str, seed: int, clients: list[int], examples: int = 8, alpha: float = 0.5) -> Holdings:
    if kind == "one_class":
        return one_class(LABELS, clients, examples, CLASSES, key(seed))
    if kind == "dirichlet":
        return dirichlet(LABELS, clients, examples, alpha, CLASSES, key(seed))
    if kind == "iid":
        return iid(LABELS, clients, examples, key(seed))
    return natural(GROUPS, clients, Natural(min_examples=10), key(seed))


KINDS = pytest.mark.parametrize("kind", ["one_class", "dirichlet", "iid", "natural"])


@KINDS
@given(seed=SEED, count=CLIENTS)
def test_nothing_is_held_twice(kind: str, seed: int, count: int) -> None:
    rows = np.concatenate(list(split(kind, seed, list(range(count))).rows.values()))
    assert len(np.unique(rows)) == len(rows)


@KINDS
@given(seed=SEED, count=CLIENTS)
def test_same_seed_same_partition_and_order_of_clients_is_irrelevant(kind: str, seed: int, count: int) -> None:
    clients = list(range(count))
    shuffled = random.Random(seed).sample(clients, count)
    first, second = split(kind, seed, clients).rows, split(kind, seed, shuffled).rows
    assert list(first) == list(second) == clients
    assert all(np.array_equal(first[c], second[c]) for c in clients)


@KINDS
def test_another_seed_is_another_partition(kind: str) -> None:
    first, second = (split(kind, seed, list(range(10))).rows for seed in (1, 2))
    assert any(not np.array_equal(first[c], second[c]) for c in range(10))


@pytest.mark.parametrize("kind", ["one_class", "dirichlet", "iid"])
@given(seed=SEED, count=CLIENTS, examples=st.integers(1, 18))
def test_sizes_are_exact(kind: str, seed: int, count: int, examples: int) -> None:
    held = split(kind, seed, list(range(count)), examples).rows
    assert [len(rows) for rows in held.values()] == [examples] * count


@given(seed=SEED, count=CLIENTS)
def test_one_class_holds_one_class(seed: int, count: int) -> None:
    for client, rows in split("one_class", seed, list(range(count))).rows.items():
        assert set(LABELS[rows]) == {client % CLASSES}


@given(seed=SEED, count=CLIENTS)
def test_natural_clients_are_whole_persons_above_the_minimum(seed: int, count: int) -> None:
    persons = set()
    for rows in split("natural", seed, list(range(count))).rows.values():
        (person,) = set(GROUPS[rows])
        assert np.array_equal(rows, np.flatnonzero(person == GROUPS))
        assert len(rows) >= 10
        persons.add(person)
    assert len(persons) == count


def test_dirichlet_concentration_is_what_alpha_says() -> None:
    """The variance of a proportion is (1/k)(1 - 1/k)/(k alpha + 1), k = 5: 0.107 at alpha 0.1, 0.0031 at alpha 10."""
    labels = np.arange(100_000) % CLASSES
    for alpha, low, high in ((0.1, 0.08, 0.13), (10.0, 0.002, 0.0045)):
        held = dirichlet(labels, list(range(200)), 100, alpha, CLASSES, key(4))
        shares = np.stack([np.bincount(labels[rows], minlength=CLASSES) / 100 for rows in held.rows.values()])
        assert held.moved == 0
        assert low < shares.var(axis=0).mean() < high
        assert abs(shares.mean() - 1 / CLASSES) < 1e-12


@given(seed=SEED, count=st.integers(16, 20))
def test_a_class_that_runs_out_is_counted(seed: int, count: int) -> None:
    """Up to 300 of 300 examples at alpha 0.1: some class must run out nearly always, and sizes still hold."""
    held = split("dirichlet", seed, list(range(count)), examples=15, alpha=0.1)
    rows = np.concatenate(list(held.rows.values()))
    assert len(np.unique(rows)) == len(rows) == count * 15
    wanted = dirichlet(np.arange(10**5) % CLASSES, list(range(count)), 15, 0.1, CLASSES, key(seed))
    demand = sum(np.bincount(np.arange(10**5)[r] % CLASSES, minlength=CLASSES) for r in wanted.rows.values())
    assert (held.moved > 0) == bool((demand > PER_CLASS).any())


@given(st.data())
def test_fit_supply_keeps_rows_and_respects_columns(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(2, 5)))
    wanted = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    )
    wanted = wanted.reshape(shape)
    supply = np.array(data.draw(st.lists(st.integers(0, 30), min_size=shape[1], max_size=shape[1])))
    supply[0] += max(0, wanted.sum() - supply.sum())  # enough in all
    given_counts = fit_supply(wanted, wanted / max(1, wanted.sum()), supply)
    assert np.array_equal(given_counts.sum(1), wanted.sum(1))
    assert (given_counts.sum(0) <= supply).all()
    assert (given_counts >= 0).all()
    if (wanted.sum(0) <= supply).all():
        assert np.array_equal(given_counts, wanted)


def test_fit_supply_by_hand() -> None:
    """Class 0 has 4, three clients want 6, 2, 0 of it: they get 3, 1, 0, and the 4 they miss come from class 1."""
    result = fit_supply(
        np.array([[6, 0], [2, 1], [0, 3]]), np.array([[1.0, 0.0], [0.6, 0.4], [0.0, 1.0]]), np.array([4, 9])
    )
    assert result.tolist() == [[3, 3], [1, 2], [0, 3]]


@pytest.mark.parametrize(
    ("kind", "count", "examples", "message"),
    [
        ("one_class", 10, 31, "class 0 has 60 examples, its 2 clients need 62"),
        ("iid", 10, 31, "10 clients x 31 examples need 310, the dataset has 300"),
        ("dirichlet", 10, 31, "10 clients x 31 examples need 310, the dataset has 300"),
        ("natural", 16, 0, "15 persons have at least 10 examples, 16 clients are asked for"),
    ],
)
def test_too_little_data_is_refused(kind: str, count: int, examples: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        split(kind, 0, list(range(count)), examples)


def test_first_partition_never_changes() -> None:
    """NumPy does not promise its Dirichlet sampler for ever: if this fails, results before and after do not compare."""
    held = split("dirichlet", 0, [0, 1], examples=6)
    assert [rows.tolist() for rows in held.rows.values()] == FIRST_ROWS


FIRST_ROWS = [[241, 192, 212, 52, 67, 99], [165, 295, 270, 176, 6, 141]]
