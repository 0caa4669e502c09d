"""What a loader of somebody else's dataset may give back: anything but images of its spec is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.cli.main import main
from sifu.config.scenario import Dataset
from sifu.data.dataset import load_images
from sifu.errors import DataError
from tests.conftest import one_sentence

MODULE = """
import numpy as np
import torch
from sifu.catalog.datasets import DatasetSpec, Source
from sifu.data.dataset import Images, Split, array_split

SPEC = DatasetSpec((1, 8, 8), 10, (0.5,), (0.5,), {{"embedded": Source("{name}:load")}})
PIXELS, LABELS = np.zeros((400, 1, 8, 8), np.uint8), np.arange(400) % 10


def load(name, root, *, check_files, download):
    return {given}
"""
GOOD = "array_split(PIXELS, LABELS)"
LARGE = "Images(array_split(np.zeros((400, 1, 9, 9), np.uint8), LABELS), None)"
GIVEN = [
    ("3", "its loader gives a value of type int, not Images(train, test)"),
    ("None", "its loader gives None, not Images(train, test)"),
    ("Images(PIXELS, None)", "the train set is a value of type ndarray, not a Split: make it with array_split"),
    ("Images(None, None)", "the train set is None, not a Split"),
    (f"Images({GOOD}, LABELS)", "the test set is a value of type ndarray, not a Split"),
    (
        LARGE,
        "the images of the train set are (1, 9, 9), its DatasetSpec says (1, 8, 8)",
    ),
    (f"Images({GOOD}, array_split(PIXELS[:, 0], LABELS))", "the images of the test set are (8, 8), its DatasetSpec"),
    ("Images(array_split(PIXELS / 255, LABELS), None)", "of the train set are float64, not uint8: bytes from 0 to 255"),
    ("Images(Split(LABELS, lambda rows: torch.zeros(1, 1, 8, 8)), None)", "of the train set are of type Tensor, not"),
    ("Images(array_split(list(PIXELS), LABELS), None)", "images are of type list, not an array of NumPy"),
    ("Images(array_split(PIXELS, LABELS / 1), None)", "labels of the train set are float64 of shape (400,), not whole"),
    ("Images(array_split(PIXELS, LABELS[:, None]), None)", "are int64 of shape (400, 1), not whole numbers of"),
    ("Images(array_split(PIXELS, list(LABELS)), None)", "labels of the train set are of type list, not an array"),
    ("Images(array_split(PIXELS, LABELS, LABELS / 1), None)", "the groups of the train set are float64"),
    ("Images(array_split(PIXELS, LABELS, LABELS[:9]), None)", "the train set has 400 labels but 9 groups"),
]
SCENARIO = """
mine:
  label: Mine
  dataset: {{name: "{name}"}}
  partition: {{kind: one_class, num_clients: 20, examples: 20}}
  model: logistic
  federation: {{clients_per_round: 10, local_steps: 5, batch_size: 10, client_lr: 0.01}}
  stop: {{accuracy: 0.8, min_rounds: 10, max_rounds: 40}}
  certificate: {{sigma: 0.05}}
  requests: {{kind: one_class, classes: [0, 1, 2]}}
"""


def write(folder: Path, name: str, given: str) -> str:
    (folder / f"{name}.py").write_text(MODULE.format(name=name, given=given))
    return f"{name}:SPEC"


@pytest.mark.parametrize(("number", "given", "words"), [(number, *case) for number, case in enumerate(GIVEN)])
def test_what_is_no_images_of_the_spec(
    number: int, given: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    dataset = Dataset(name=write(tmp_path, f"outside_loader_{number}", given))
    with pytest.raises(DataError) as refused:
        load_images(dataset, tmp_path)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_images_of_the_spec_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a test set, and with labels of few bytes."""
    monkeypatch.syspath_prepend(tmp_path)
    few = "array_split(PIXELS, LABELS.astype(np.uint8), LABELS)"
    dataset = Dataset(name=write(tmp_path, "outside_loader_good", f"Images({GOOD}, {few})"))
    assert load_images(dataset, tmp_path).counts() == {"train": 400, "test": 400}


def test_a_partition_is_refused_not_the_training_after_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = write(tmp_path, "outside_loader_stage", LARGE)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "scenarios.yaml").write_text(SCENARIO.format(name=name))
    asked = ["partition", "--scenario", "mine", "--block", "s000-000", "--config", "config", "--results", "results"]
    assert main(asked) == 2
    assert "images of the train set are (1, 9, 9), its DatasetSpec says (1, 8, 8)" in one_sentence(capsys)
