"""Small generated datasets in the original layouts, and how they are read."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from sifu.config.scenario import Dataset
from sifu.data.dataset import Images, load_images

RANDOM = np.random.default_rng(0)


def read(name: str, root: Path, source: str = "auto") -> Images:
    """Without checksums, which are those of the originals."""
    return load_images(Dataset(name=name, source=source, verify=False), root)


def write_idx(path: Path, array: np.ndarray) -> None:
    codes = {"uint8": 8, "int32": 12}
    header = bytes([0, 0, codes[array.dtype.name], array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(header + array.astype(array.dtype.newbyteorder(">")).tobytes()))


def write_mnist(root: Path, count: int = 40) -> np.ndarray:
    """A tree in MNIST's and QMNIST's layout: image i is grey i, digit i mod 10, written by person i // 10."""
    for part, qpart in (("train", "train"), ("t10k", "test")):
        pixels = np.repeat(np.arange(count, dtype=np.uint8), 784).reshape(count, 28, 28)
        labels = (np.arange(count) % 10).astype(np.uint8)
        write_idx(root / f"MNIST/raw/{part}-images-idx3-ubyte.gz", pixels)
        write_idx(root / f"MNIST/raw/{part}-labels-idx1-ubyte.gz", labels)
        table = np.zeros((count + 3, 8), np.int32)  # QMNIST's test file has more rows than MNIST's test set
        table[:count, 0], table[:count, 2] = labels, 100 + np.arange(count) // 10
        write_idx(root / f"QMNIST/raw/qmnist-{qpart}-labels-idx2-int.gz", table)
    return pixels


def write_celeba(root: Path, persons: int = 3, each: int = 4) -> None:
    """A tree in CelebA's layout: portrait images of one colour a person, smiling every other time."""
    folder = root / "celeba"
    (folder / "img_align_celeba").mkdir(parents=True)
    names = [f"{i:06d}.jpg" for i in range(1, persons * each * 2 + 1)]
    for i, name in enumerate(names):
        colour = (20 * (i % persons), 100, 200)
        Image.new("RGB", (178, 218), colour).save(folder / "img_align_celeba" / name)
    smiling = [1 if i % 2 else -1 for i in range(len(names))]
    lines = [f"{n}  {s} {-s}" for n, s in zip(names, smiling, strict=True)]
    (folder / "list_attr_celeba.txt").write_text("\n".join([str(len(names)), "Smiling Young", *lines]) + "\n")
    (folder / "identity_CelebA.txt").write_text("".join(f"{n} {i % persons + 1}\n" for i, n in enumerate(names)))
    split = [0 if i < persons * each else 2 for i in range(len(names))]
    (folder / "list_eval_partition.txt").write_text("".join(f"{n} {s}\n" for n, s in zip(names, split, strict=True)))
    for other in ("list_bbox_celeba.txt", "list_landmarks_align_celeba.txt"):
        rows = [f"{n} 0 0 0 0" for n in names]
        (folder / other).write_text("\n".join([str(len(names)), "a b c d", *rows]) + "\n")


def write_cifar10(root: Path) -> None:
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        data = RANDOM.integers(0, 256, (4, 3072), dtype=np.uint8)
        (folder / name).write_bytes(pickle.dumps({"data": data, "labels": [0, 1, 2, 9]}))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": list("abcdefghij")}))


def python2_pickle(data: np.ndarray, labels: list[int]) -> bytes:
    """A batch as CIFAR's authors wrote it."""
    rows, columns = (struct.pack("<i", size) for size in data.shape)
    dtype = b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    begin = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
    state = (
        b"(K\x01(J" + rows + b"J" + columns + b"t" + dtype + b"\x89T" + struct.pack("<i", data.size) + data.tobytes()
    )
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(U\x04data" + begin + state + b"tbU\x06labels" + listed + b"u."


def png(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()


def write_parquet(root: Path, name: str = "cifar10", **columns: Any) -> np.ndarray:
    """Six random images; `columns` replace or (None) remove the usual ones."""
    pixels = RANDOM.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    usual = {"image": [png(p) for p in pixels], "label": [0, 1, 2, 3, 4, 9], "client": [7, 7, 8, 8, 9, 9]}
    table = pa.table({key: value for key, value in (usual | columns).items() if value is not None})
    (root / name).mkdir(parents=True, exist_ok=True)
    for part in ("train", "test"):
        pq.write_table(table, root / name / f"{part}.parquet")
    return pixels
