"""CIFAR's files, which are pickles: read as published and downloaded, never executed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sifu.config.scenario import Dataset
from sifu.data.dataset import load_images
from sifu.errors import DataError
from tests.dataset_folders import RANDOM, python2_pickle, read, write_cifar10


def test_cifar_layout(tmp_path: Path) -> None:
    write_cifar10(tmp_path)
    images = read("cifar10", tmp_path, "torchvision")
    assert images.train.labels.tolist() == [0, 1, 2, 9] * 5
    assert images.train.pixels(np.array([0, 19])).shape == (2, 3, 32, 32)


def test_cifar_as_it_was_published(tmp_path: Path) -> None:
    """Written by Python 2, with texts of bytes and an older NumPy."""
    write_cifar10(tmp_path)
    data = RANDOM.integers(0, 256, (2, 3072), dtype=np.uint8)
    (tmp_path / "cifar-10-batches-py" / "test_batch").write_bytes(python2_pickle(data, [3, 7]))
    test = read("cifar10", tmp_path, "torchvision").test
    assert test is not None
    assert test.labels.tolist() == [3, 7]
    assert np.array_equal(test.pixels(np.arange(2)), data.reshape(2, 3, 32, 32))


def test_damaged_cifar(tmp_path: Path) -> None:
    write_cifar10(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_2").write_text("junk")
    with pytest.raises(DataError, match="CIFAR10 under"):
        read("cifar10", tmp_path, "torchvision")


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
