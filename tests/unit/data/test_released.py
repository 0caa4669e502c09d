"""Clients, marks and persons as the paper's repository makes them, compared with a plain transcript of what it does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sifu.config.partition import Dirichlet, Natural, OneClass, Watermark
from sifu.data.dataset import Split, array_split
from sifu.data.partition import partition_split
from sifu.data.released import image_shape, mark_images, mark_places
from sifu.errors import ConfigError, DataError

CLASSES, CLIENTS, EXAMPLES = 10, 25, 20
LABELS = np.random.default_rng(0).integers(0, CLASSES, 400)


def examples(labels: NDArray[np.int64] = LABELS) -> Split:
    return array_split(np.zeros((len(labels), 1, 28, 28), np.uint8), labels)


def transcript(alpha: float, shape: tuple[int, ...] | None) -> list[list[int]]:
    """The repository's order of draws with NumPy's global generator: seeded with 0, and again with 42 for Dirichlet."""
    np.random.seed(0)  # noqa: NPY002
    if alpha == 0:
        shares = [[float(label == client % CLASSES) for label in range(CLASSES)] for client in range(CLIENTS)]
    else:
        np.random.seed(42)  # noqa: NPY002
        shares = np.random.dirichlet([alpha] * CLASSES, size=CLIENTS).tolist()  # noqa: NPY002
    clients = []
    for client, share in enumerate(shares):
        counts = [int(part * EXAMPLES) for part in share]
        counts[-1] = EXAMPLES - sum(counts[:-1])
        rows: list[int] = []
        for label, count in enumerate(counts):
            rows += np.random.choice(np.flatnonzero(label == LABELS), count).tolist()  # noqa: NPY002
        clients.append(rows)
        for _ in rows if shape else []:  # every image is marked, which seeds the generator anew
            np.random.seed(42 + client % 10)  # noqa: NPY002
            for _ in range(10):
                for side in shape or ():
                    np.random.randint(side)  # noqa: NPY002
    return clients


@pytest.mark.parametrize("shape", [None, (28, 28), (32, 32, 3)], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0])
def test_draw_for_draw(alpha: float, shape: tuple[int, ...] | None) -> None:
    sizes = {"num_clients": CLIENTS, "examples": EXAMPLES, "replacement": True}
    partition = Dirichlet(alpha=alpha, seed=42, **sizes) if alpha else OneClass(seed=0, **sizes)  # type: ignore[arg-type]
    held = partition_split(partition, examples(), CLASSES, 7, shape).rows
    assert [held[client].tolist() for client in range(CLIENTS)] == transcript(alpha, shape)


def test_marks_make_clients_of_a_group_the_same() -> None:
    """With one class a client: what client i + 1 draws depends on i mod 10 alone. Client 0 drew before any mark."""
    partition = OneClass(num_clients=30, examples=EXAMPLES, replacement=True, seed=0)
    held = partition_split(partition, examples(), CLASSES, 0, (28, 28)).rows
    for client in range(1, 20):
        assert np.array_equal(held[client], held[client + 10])
    plain = partition_split(partition, examples(), CLASSES, 0).rows
    assert not np.array_equal(plain[1], plain[11])


def test_a_partition_of_all_seeds() -> None:
    for kind in (OneClass(num_clients=5, examples=4, seed=3), Dirichlet(num_clients=5, examples=4, alpha=1.0, seed=3)):
        first, second = (partition_split(kind, examples(), CLASSES, seed).rows for seed in (0, 1))
        assert all(np.array_equal(first[client], second[client]) for client in first)


def test_an_empty_class_is_one_sentence() -> None:
    with pytest.raises(DataError, match="a class has no examples"):
        partition_split(OneClass(num_clients=3, examples=2, replacement=True), examples(LABELS % 2), CLASSES, 0)


def test_marks() -> None:
    """Ten draws of line, column and channel from the generator of the group; the value is the image's own maximum."""
    pixels = np.random.default_rng(1).integers(0, 200, (2, 3, 32, 32)).astype(np.uint8)
    pixels[1, 0, 0, 0] = 250
    generator, expected = np.random.RandomState(42 + 3), pixels.copy()
    for _ in range(10):
        line, column, channel = (generator.randint(side) for side in (32, 32, 3))
        expected[:, channel, line, column] = pixels.reshape(2, -1).max(1)
    assert np.array_equal(mark_images(pixels, 3), expected)
    assert expected.reshape(2, -1).max(1).tolist() == [199, 250]
    assert int((expected != pixels).sum()) <= 20
    assert all(len(place) == 2 for place in mark_places(0, image_shape((1, 28, 28))))


def test_the_first_persons_with_their_first_examples() -> None:
    persons = np.array([5, 2, 2, 9, 9, 9, 5, 2, 7, 9, 5])  # 2 and 5 have three, 7 one, 9 four
    split = array_split(np.zeros((11, 1, 2, 2), np.uint8), np.zeros(11, np.int64), persons)
    partition = Natural(num_clients=2, min_examples=3, max_examples=2, order="first")
    held = partition_split(partition, split, 2, 5).rows
    assert [held[client].tolist() for client in (0, 1)] == [[1, 2], [0, 6]]


def test_marks_of_the_code_are_marks_of_groups() -> None:
    with pytest.raises(ConfigError, match="group, with as_released"):
        Watermark(as_released=True)
    with pytest.raises(ConfigError, match="10, with as_released"):
        Watermark(as_released=True, per="group", pixels=4)
