"""Reading datasets: the embedded digits, and small generated files in the original layouts."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from sifu.config.partition import Natural
from sifu.data.partition import partition_split
from tests.dataset_folders import read, write_celeba, write_mnist, write_parquet


def test_embedded_digits_are_500_of_each(tmp_path: Path) -> None:
    images = read("mnist", tmp_path, "embedded")
    assert np.bincount(images.train.labels).tolist() == [500] * 10
    pixels = images.train.pixels(np.array([0, 4999]))
    assert pixels.shape == (2, 1, 28, 28)
    assert pixels.max() > 200
    assert images.test is None


def test_mnist_layout(tmp_path: Path) -> None:
    pixels = write_mnist(tmp_path)
    images = read("mnist", tmp_path)
    assert images.train.labels.tolist() == [i % 10 for i in range(40)]
    assert np.array_equal(images.train.pixels(np.array([3, 17])), pixels[[3, 17], None])


def test_unpacked_files_do_as_well(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    for path in list((tmp_path / "MNIST/raw").iterdir()):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    assert len(read("mnist", tmp_path).train.labels) == 40


def test_mnist_by_writer_layout(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    images = read("mnist_by_writer", tmp_path)
    assert images.train.groups is not None
    assert images.train.groups.tolist() == [100 + i // 10 for i in range(40)]


def test_celeba_layout(tmp_path: Path) -> None:
    """Three persons with four train images each; identity decides the client, Smiling the label, 64 x 64 the size."""
    write_celeba(tmp_path)
    images = read("celeba", tmp_path)
    assert images.train.labels.tolist() == [i % 2 for i in range(12)]
    assert images.train.groups is not None
    assert images.train.groups.tolist() == [i % 3 + 1 for i in range(12)]
    pixels = images.train.pixels(np.array([1, 2]))
    assert pixels.shape == (2, 3, 64, 64)
    assert np.abs(pixels[:, :, 32, 32].astype(int) - [[20, 100, 200], [40, 100, 200]]).max() < 8  # JPEG is lossy
    held = partition_split(Natural(num_clients=3, min_examples=4), images.train, 2, 0)
    for rows in held.rows.values():
        assert len(set(images.train.groups[rows])) == 1
        assert len(rows) == 4


def test_parquet_layout(tmp_path: Path) -> None:
    pixels = write_parquet(tmp_path)
    images = read("cifar10", tmp_path)
    assert images.train.labels.tolist() == [0, 1, 2, 3, 4, 9]
    assert images.train.groups is not None
    assert images.train.groups.tolist() == [7, 7, 8, 8, 9, 9]
    assert np.array_equal(images.train.pixels(np.array([5, 0])), pixels[[5, 0]].transpose(0, 3, 1, 2))
