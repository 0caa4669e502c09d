"""Compares dataset files with the checksums of their publishers."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sifu.errors import DataError

# md5 of the original distributions; torchvision checks the same values when it downloads.
_MD5 = {
    "FashionMNIST/raw/t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "FashionMNIST/raw/t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    "FashionMNIST/raw/train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "FashionMNIST/raw/train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "MNIST/raw/t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "MNIST/raw/t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    "MNIST/raw/train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "MNIST/raw/train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "cifar-10-batches-py/data_batch_1": "c99cafc152244af753f735de768cd75f",
    "cifar-10-batches-py/data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "cifar-10-batches-py/data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "cifar-10-batches-py/data_batch_4": "634d18415352ddfa80567beed471001a",
    "cifar-10-batches-py/data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "cifar-10-batches-py/test_batch": "40351d587109b95175f43aff81a1287e",
    "cifar-100-python/test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "cifar-100-python/train": "16019d7e3df5f24257cddd939b257f8d",
    "QMNIST/raw/qmnist-test-labels-idx2-int.gz": "5b5b05890a5e13444e108efe57b788aa",
    "QMNIST/raw/qmnist-train-labels-idx2-int.gz": "0058f8dd561b90ffdd0f734c6a30e5e4",
}


def check_checksum(root: Path, relative: str) -> None:
    """Refuse a file under `root` whose md5 differs from the published one; a file without a known md5 passes."""
    expected, path = _MD5.get(relative), root / relative
    if expected is None or not path.exists():
        return
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "md5").hexdigest()
    if actual != expected:
        raise DataError(
            f"{path} is damaged or not the original: md5 {actual}, expected {expected} "
            "(dataset.verify: false skips this check)"
        )
