"""Datasets that are refused with one sentence: truncated, damaged, missing or with other contents."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sifu.config.fields import build
from sifu.config.partition import Natural
from sifu.config.scenario import Dataset, Scenario
from sifu.data.clients import load_clients
from sifu.data.dataset import Images, array_split, load_images
from sifu.data.idx import read_idx
from sifu.data.partition import partition_split
from sifu.errors import DataError
from tests.dataset_folders import png, read, write_celeba, write_idx, write_mnist, write_parquet
from tests.unit.plan.test_load import GOOD


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
    with pytest.raises(DataError, match="does not describe the MNIST train set in "):
        read("mnist_by_writer", tmp_path)
    write_idx(tmp_path / "QMNIST/raw/qmnist-train-labels-idx2-int.gz", np.full((43, 2), 5, np.int32))
    with pytest.raises(DataError, match="expected a table of 8 columns"):
        read("mnist_by_writer", tmp_path)


@pytest.mark.parametrize(
    ("columns", "message"),
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
def test_bad_parquet_columns(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_parquet(tmp_path, **columns)
    with pytest.raises(DataError, match=message):
        read("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (b"not a png", "image in row 3 does not decode"),
        (png(np.zeros((32, 32, 3), np.uint8))[:60], "image in row 3 does not decode"),
        (png(np.zeros((28, 32, 3), np.uint8)), "image in row 3 is 32 x 28 pixels, expected 32 x 32"),
        (None, "image in row 3 is null"),
    ],
)
def test_bad_parquet_images(image: bytes | None, message: str, tmp_path: Path) -> None:
    good = png(np.zeros((32, 32, 3), np.uint8))
    write_parquet(tmp_path, image=pa.array([good, good, good, image, good, good], pa.binary()))
    with pytest.raises(DataError, match=message):
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
    with pytest.raises(DataError, match="needs to know whose example each one is"):
        partition_split(Natural(num_clients=2), read("cifar10", tmp_path).train, 10, 0)


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
    for row, label in ((9, 0), (1, 2), (-1, 3), (-(10**12), 0)):  # -1 would be the last row
        partition = pd.DataFrame({"seed": 0, "client": 0, "place": [0], "row": [row], "label": [label]})
        with pytest.raises(DataError, match="made from other data"):
            load_clients(scenario, images, partition, range(1))


def test_a_client_that_holds_too_much_is_refused() -> None:
    """All clients are padded to the largest: one with everything would take a hundred times the memory."""
    images = Images(array_split(np.zeros((200, 1, 28, 28), np.uint8), np.zeros(200, np.int64)), None)
    scenario = build(Scenario, GOOD, "x")
    clients = [*range(scenario.partition.num_clients), *[0] * (scenario.partition.examples + 1)]
    rows = {
        "seed": 0,
        "client": clients,
        "place": range(len(clients)),
        "row": np.arange(len(clients)) % 200,
        "label": 0,
    }
    with pytest.raises(DataError, match=r"a client holds \d+ examples in the partition, not"):
        load_clients(scenario, images, pd.DataFrame(rows), range(1))


def test_download_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sifu.data.vision import torchvision

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(torchvision().datasets, "MNIST", refuse)
    with pytest.raises(DataError, match=r"MNIST could not be downloaded .*no route to host"):
        load_images(Dataset(name="mnist"), tmp_path, download=True)
