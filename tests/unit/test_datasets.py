"""Datasets: real files where they are there, small generated trees in the original layouts, and damaged ones."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sifu.data.clients import load_clients
from sifu.data.dataset import Images, array_split, load_images
from sifu.data.idx import read_idx
from sifu.data.partition import partition_split
from sifu.errors import DataError
from sifu.keys import Keys
from sifu.scenario import Dataset, Natural, Scenario
from sifu.settings import build
from tests.trees import RANDOM, png, python2_pickle, write_celeba, write_cifar10, write_idx, write_mnist, write_parquet
from tests.unit.test_config import GOOD


def read(name: str, root: Path, source: str = "auto") -> Images:
    return load_images(Dataset(name=name, source=source, verify=False), root)


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
    held = partition_split(Natural(num_clients=3, min_examples=4), images.train, 2, Keys.of([0]).rows(0))
    for rows in held.rows.values():
        assert len(set(images.train.groups[rows])) == 1
        assert len(rows) == 4


def test_cifar_layout(tmp_path: Path) -> None:
    write_cifar10(tmp_path)
    images = read("cifar10", tmp_path, "torchvision")
    assert images.train.labels.tolist() == [0, 1, 2, 9] * 5
    assert images.train.pixels(np.array([0, 19])).shape == (2, 3, 32, 32)


def test_parquet_layout(tmp_path: Path) -> None:
    pixels = write_parquet(tmp_path)
    images = read("cifar10", tmp_path)
    assert images.train.labels.tolist() == [0, 1, 2, 3, 4, 9]
    assert images.train.groups is not None
    assert images.train.groups.tolist() == [7, 7, 8, 8, 9, 9]
    assert np.array_equal(images.train.pixels(np.array([5, 0])), pixels[[5, 0]].transpose(0, 3, 1, 2))


def truncate(path: Path, keep: float = 0.5) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def test_truncated_gz(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    truncate(tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz")
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte\.gz cannot be unpacked, it is truncated or damaged"):
        read("mnist", tmp_path)


def test_not_gz_at_all(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    (tmp_path / "MNIST/raw/train-labels-idx1-ubyte.gz").write_text("<html>not found</html>")
    with pytest.raises(DataError, match="cannot be unpacked"):
        read("mnist", tmp_path)


def test_checksum_mismatch(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    with pytest.raises(DataError, match=r"is damaged or not the original: md5 .* \(dataset.verify: false skips"):
        load_images(Dataset(name="mnist"), tmp_path)


def test_idx_that_announces_more_than_it_has(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(bytes([0, 0, 8, 1]) + struct.pack(">I", 10) + bytes(4)))
    with pytest.raises(DataError, match="12 bytes, its header announces 18"):
        read_idx(tmp_path, "x.gz")


def test_not_idx(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"hello"))
    with pytest.raises(DataError, match="is not an IDX file"):
        read_idx(tmp_path, "x.gz")


def test_images_of_another_size(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    write_idx(tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz", np.zeros((40, 32, 32), np.uint8))
    with pytest.raises(DataError, match=r"expected bytes of \[N, 28, 28\]"):
        read("mnist", tmp_path)


def test_fewer_labels_than_images(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    write_idx(tmp_path / "MNIST/raw/train-labels-idx1-ubyte.gz", np.zeros(39, np.uint8))
    with pytest.raises(DataError, match="40 images but 39 labels"):
        read("mnist", tmp_path)


def test_label_out_of_range(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    write_idx(tmp_path / "MNIST/raw/train-labels-idx1-ubyte.gz", np.full(40, 10, np.uint8))
    with pytest.raises(DataError, match="label 10 in row 0 of the train set; allowed: 0 to 9"):
        read("mnist", tmp_path)


def test_writers_of_another_dataset(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    write_idx(tmp_path / "QMNIST/raw/qmnist-train-labels-idx2-int.gz", np.full((43, 8), 5, np.int32))
    with pytest.raises(DataError, match="does not describe the MNIST train set beside it"):
        read("mnist_by_writer", tmp_path)
    write_idx(tmp_path / "QMNIST/raw/qmnist-train-labels-idx2-int.gz", np.full((43, 2), 5, np.int32))
    with pytest.raises(DataError, match="expected a table of 8 columns"):
        read("mnist_by_writer", tmp_path)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"label": None}, "has no column label; it has image, client"),
        ({"image": None}, "has no column image"),
        ({"image": [1, 2, 3, 4, 5, 6]}, "column image is int64, expected binary"),
        ({"label": list("abcdef")}, "column label is string, expected whole numbers"),
        ({"label": [0.0, 1.0, float("nan"), 3.0, 4.0, 5.0]}, "label in row 2 is nan, expected a whole number"),
        ({"label": [0, 1, None, 3, 4, 5]}, "label in row 2 is nan, expected a whole number"),
        ({"label": [0, 1, 2, 3, 4, 5.5]}, r"label in row 5 is 5\.5, expected a whole number"),
        ({"label": [0, 1, 2, 3, 4, 10]}, "label 10 in row 5 of the train set; allowed: 0 to 9"),
        ({"label": [0, 1, 2, 3, 4, -1]}, "label -1 in row 5"),
        ({"client": [None] * 6}, "client"),
    ],
)
def test_bad_parquet_columns(columns: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_parquet(tmp_path, **columns)
    with pytest.raises(DataError, match=words):
        read("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (b"not a png", "image in row 3 does not decode"),
        (png(np.zeros((32, 32, 3), np.uint8))[:60], "image in row 3 does not decode"),
        (png(np.zeros((28, 32, 3), np.uint8)), "image in row 3 is 32 x 28 pixels, expected 32 x 32"),
        (None, "image in row 3 is null"),
    ],
)
def test_bad_parquet_images(image: bytes | None, words: str, tmp_path: Path) -> None:
    good = png(np.zeros((32, 32, 3), np.uint8))
    write_parquet(tmp_path, image=pa.array([good, good, good, image, good, good], pa.binary()))
    with pytest.raises(DataError, match=words):
        read("cifar10", tmp_path).train.pixels(np.arange(6))


def test_parquet_that_is_none(tmp_path: Path) -> None:
    write_parquet(tmp_path)
    truncate(tmp_path / "cifar10/train.parquet")
    with pytest.raises(DataError, match="is not a readable Parquet file"):
        read("cifar10", tmp_path)


def test_empty_parquet(tmp_path: Path) -> None:
    write_parquet(tmp_path, image=pa.array([], pa.binary()), label=pa.array([], pa.int64()), client=None)
    with pytest.raises(DataError, match="the train set is empty"):
        read("cifar10", tmp_path)


def test_celeba_image_that_does_not_decode(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    (tmp_path / "celeba/img_align_celeba/000002.jpg").write_text("no image")
    with pytest.raises(DataError, match=r"000002\.jpg does not decode as an image"):
        read("celeba", tmp_path).train.pixels(np.array([1]))


def test_celeba_with_wrong_checksums(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    with pytest.raises(DataError, match=r"CelebA under .* cannot be read"):
        load_images(Dataset(name="celeba"), tmp_path)


def test_missing_dataset_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"looked for .*cifar-10-batches-py \(source torchvision\) and .*train\.parquet"
    ):
        read("cifar10", tmp_path)


def test_natural_partition_without_persons(tmp_path: Path) -> None:
    write_parquet(tmp_path, client=None)
    with pytest.raises(DataError, match="needs to know who each example comes from"):
        partition_split(Natural(num_clients=2), read("cifar10", tmp_path).train, 10, Keys.of([0]).rows(0))


def test_an_empty_client_is_refused() -> None:
    scenario = build(
        Scenario,
        GOOD
        | {
            "partition": {"kind": "iid", "num_clients": 2, "examples": 50},
            "federation": GOOD["federation"] | {"clients_per_round": 1},
            "requests": {"kind": "listed", "clients": [[0]]},
        },
        "x",
    )
    images = Images(array_split(np.zeros((4, 1, 28, 28), np.uint8), np.zeros(4, np.int64)), None)
    partition = pd.DataFrame({"seed": 0, "client": 0, "place": [0, 1], "row": [0, 1], "label": 0})
    with pytest.raises(DataError, match="client 1 of seed 0 has no examples"):
        load_clients(scenario, images, partition, range(1))


def test_a_partition_of_other_data_is_refused() -> None:
    images = Images(array_split(np.zeros((4, 1, 28, 28), np.uint8), np.arange(4)), None)
    scenario = build(Scenario, GOOD, "x")
    for row, label in ((9, 0), (1, 2)):
        partition = pd.DataFrame({"seed": 0, "client": 0, "place": [0], "row": [row], "label": [label]})
        with pytest.raises(DataError, match="made of other data"):
            load_clients(scenario, images, partition, range(1))


def test_damaged_cifar(tmp_path: Path) -> None:
    write_cifar10(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_2").write_text("junk")
    with pytest.raises(DataError, match="CIFAR10 under"):
        read("cifar10", tmp_path, "torchvision")


def test_download_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sifu.data.vision import torchvision

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(torchvision().datasets, "MNIST", refuse)
    with pytest.raises(DataError, match=r"MNIST could not be downloaded .*no route to host"):
        load_images(Dataset(name="mnist"), tmp_path, download=True)


@pytest.mark.parametrize("module", ["os", "builtins", "numpy"])
def test_a_pickle_that_runs_something_is_refused(tmp_path: Path, module: str) -> None:
    """CIFAR's files are pickles: one that names a function gets no chance to call it."""
    write_cifar10(tmp_path)
    name, made = {"os": "system", "builtins": "exec", "numpy": "fromfile"}[module], tmp_path / "made"
    call = {"os": f"touch {made}", "builtins": f"open({str(made)!r}, 'w')", "numpy": "/etc/hostname"}[module]
    evil = f"c{module}\n{name}\n(V{call}\ntR.".encode()
    (tmp_path / "cifar-10-batches-py" / "data_batch_3").write_bytes(evil)
    with pytest.raises(DataError, match=rf"CIFAR10 under .*: it names {module}\.{name}, which has no place in images"):
        read("cifar10", tmp_path, "torchvision")
    assert not made.exists()


def test_cifar_as_it_was_published(tmp_path: Path) -> None:
    """Written by Python 2, with texts of bytes and an older NumPy."""
    write_cifar10(tmp_path)
    data = RANDOM.integers(0, 256, (2, 3072), dtype=np.uint8)
    (tmp_path / "cifar-10-batches-py" / "test_batch").write_bytes(python2_pickle(data, [3, 7]))
    test = read("cifar10", tmp_path, "torchvision").test
    assert test is not None
    assert test.labels.tolist() == [3, 7]
    assert np.array_equal(test.pixels(np.arange(2)), data.reshape(2, 3, 32, 32))


def test_cifar_is_downloaded_without_unpickling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sifu.data.vision import torchvision

    asked = {}

    def fetch(url: str, root: Path, *, filename: str, md5: str) -> None:
        asked.update(url=url, md5=md5)
        write_cifar10(root)

    datasets = torchvision().datasets
    monkeypatch.setattr(datasets.utils, "download_and_extract_archive", fetch)
    images = load_images(Dataset(name="cifar10", verify=False), tmp_path, download=True)
    assert len(images.train.labels) == 20
    assert asked == {"url": datasets.CIFAR10.url, "md5": datasets.CIFAR10.tgz_md5}
    with pytest.raises(DataError, match="is damaged or not the original"):
        load_images(Dataset(name="cifar10"), tmp_path)
