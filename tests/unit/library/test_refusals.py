"""What a user may get wrong: each is one sentence that says where, and what is allowed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import sifu
from sifu.errors import SifuError
from tests.unit.library.given import QUICK, features, trained


def refused(sentence: str, **changes: Any) -> None:
    """Training with changed data or settings is refused with a sentence that holds these words."""
    images, labels = features()
    given = {"images": images, "labels": labels} | QUICK | changes
    with pytest.raises(SifuError, match=re.escape(sentence)) as found:
        sifu.train(**given)
    assert "\n" not in str(found.value)


def other(place: int, array: Any) -> list[Any]:
    images, _ = features()
    return [array if client == place else own for client, own in enumerate(images)]


def other_labels(place: int, array: Any) -> list[Any]:
    _, labels = features()
    return [array if client == place else own for client, own in enumerate(labels)]


def test_images() -> None:
    images, _ = features()
    broken = images[2].copy()
    broken[4, 1] = np.nan
    refused("images must be a list with an array for each client, not ndarray of shape [6, 5]", images=images[0])
    refused("images has 3 clients, labels has 4", images=images[:3])
    refused("a federation needs at least two clients, not 1", images=images[:1], labels=features()[1][:1])
    refused("the images of client 2 hold NaN or infinite values, the first in place 4", images=other(2, broken))
    refused("the images of client 1 are empty: at least one is needed", images=other(1, images[1][:0]))
    refused("the images of client 1 have the shape [4], the first client's [5]", images=other(1, images[1][:, :4]))
    refused(
        "the images of client 0 have the shape [6]; allowed: [n, channels, height, width]", images=other(0, np.ones(6))
    )
    refused("the images of client 3 are int64: give bytes from 0 to 255", images=other(3, np.ones((8, 5), int)))
    refused("the images of client 3 are uint8, the first", images=other(3, np.ones((8, 5), np.uint8)))
    refused("the images of client 0 are <U1: give numbers", images=other(0, np.full((6, 5), "a")))
    refused(
        "the images of client 0 are not one array: their rows differ in length", images=other(0, [[1.0], [1.0, 2.0]])
    )


def test_labels() -> None:
    refused("the labels of client 1 hold -1; allowed: 0 to 2", labels=other_labels(1, np.full(9, -1)))
    refused("the labels of client 0 hold 2; allowed: 0 to 1", num_classes=2)
    refused("the labels of client 2 are 6, but there are 7 images", labels=other_labels(2, np.zeros(6, int)))
    refused(
        "the labels of client 2 are float64 [7]: give a whole number for each image", labels=other_labels(2, np.ones(7))
    )
    refused("num_classes: 1 is refused; allowed: a whole number, 2 or more", num_classes=1)
    refused("labels must be a list with an array for each client, not dict", labels={})


def test_a_test_set() -> None:
    refused("test must be a pair: images and labels", test=np.ones((3, 5)))
    refused("server must be a pair: images and labels", server=np.ones((3, 5)))
    refused("the test images have the shape [4], the first client's [5]", test=(np.ones((3, 4)), np.zeros(3, int)))
    refused("the test labels are 2, but there are 3 images", test=(np.ones((3, 5)), np.zeros(2, int)))
    refused("the test labels hold 3; allowed: 0 to 2", test=(np.ones((3, 5)), np.full(3, 3)), num_classes=3)


def test_settings() -> None:
    refused("clients_per_round: 5 is refused; allowed: 1 to the number of clients (4)", clients_per_round=5)
    refused("batch_size: 7 is refused; allowed: 1 to the size of the smallest client (6)", batch_size=7)
    refused("client_lr: 0.0 is refused; allowed: above 0", client_lr=0)
    refused("local_steps: 'two' is refused; allowed: a whole number", local_steps="two")
    refused("target: 1.5 is refused; allowed: above 0, at most 1", target=1.5)
    refused("min_rounds: 5 is refused; allowed: at most max_rounds (4)", min_rounds=5)
    refused("sampling: 'Poisson' is refused (did you mean poisson?); allowed: fixed | poisson", sampling="Poisson")
    refused("device: 'gpu' is refused (did you mean cuda?); allowed: auto | cpu | cuda", device="gpu")
    refused("seeds: 3 is refused; allowed: different whole numbers from 0 on, such as range(3)", seeds=3)
    refused("seeds: [1, 1] is refused", seeds=[1, 1])
    refused("scale: 'units' is refused (did you mean unit?); allowed: standard | unit", scale="units")
    refused("std: 0.0 is refused; allowed: above 0", std=0.0)
    refused("mean: [0.0, 1.0] is refused; allowed: a number, or one for each of 5 channels", mean=[0.0, 1.0])
    refused("learning_rate: 0.1 is refused; allowed: only the settings model, test, server, target", learning_rate=0.1)
    refused("(did you mean clients_per_round?)", client_per_round=2)


def test_models() -> None:
    refused("model: 'logistics' is refused (did you mean logistic?); allowed: logistic |", model="logistics")
    refused("model: 'cnn28' is refused; allowed: logistic | variational | particles (for images of [5])", model="cnn28")
    refused("model: 7 is refused; allowed: a name of the catalog, a torch.nn.Module, or a function", model=7)
    refused("model Linear gives [3, 4] for 3 images; it must give logits, [3, 3]", model=torch.nn.Linear(5, 4))
    refused("model Linear fails on images of (5,): RuntimeError: mat1 and mat2", model=torch.nn.Linear(6, 3))
    refused("model <lambda> cannot be built: ZeroDivisionError", model=lambda shape, classes: 1 / 0)
    refused("model <lambda> is a list, not a torch.nn.Module", model=lambda shape, classes: [])
    norm = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.BatchNorm1d(3))
    refused("model Sequential contains BatchNorm1d (1), which mixes the examples of a batch", model=norm)
    refused("there is no module my_package", model="my_package.nets:Tiny")


@pytest.fixture(scope="module")
def training() -> sifu.Training:
    return trained()


@pytest.mark.parametrize(
    ("clients", "sentence"),
    [
        ([4], "client 4 does not exist; allowed: 0 to 3"),
        (-1, "client -1 does not exist; allowed: 0 to 3"),
        ([1, 1], "client 1 is named twice in one request"),
        ([], "request 1 is empty: at least one client must be forgotten"),
        ([0, 1, 2, 3], "request 1 leaves no client: at least one must remain"),
        ("1", "clients: '1' is refused; allowed: numbers of clients, 0 to 3"),
        (1.0, "clients: 1.0 is refused; allowed: numbers of clients, 0 to 3"),
    ],
)
def test_clients(training: sifu.Training, clients: Any, sentence: str) -> None:
    with pytest.raises(SifuError, match=re.escape(sentence)):
        training.forget(clients)


def test_a_client_is_forgotten_once(training: sifu.Training) -> None:
    answer = training.forget([1], "fine_tuning")
    with pytest.raises(SifuError, match=re.escape("request 2 names clients that were forgotten before: [1]")):
        answer.forget([0, 1])
    with pytest.raises(SifuError, match="seed: 2 is refused; allowed: 0, 1"):
        answer.module(2)


@pytest.mark.parametrize(
    ("method", "settings", "sentence"),
    [
        ("sifi", {}, "method: 'sifi' is refused (did you mean sifu?); allowed: original | scratch"),
        ("sifu", {"sigmaa": 0.1}, "allowed: only the settings noise, epsilon, delta, sigma"),
        ("sifu", {"sigmaa": 0.1}, "(did you mean sigma?)"),
        ("sifu", {"sigma": -1}, "sigma: -1.0 is refused; allowed: 0 or more"),
        ("scratch", {"sigma": 0.1}, "sigma: 0.1 is refused; allowed: nothing, as scratch has no settings"),
        ("fed_eraser", {"every": 0}, "every: 0 is refused; allowed: 1 or more"),
        ("sifu", {"budget": 2}, "budget: 2 is refused; allowed: above 0, at most 1"),
        (int, {}, "int: it is no method: write `class ...(Method)`"),
        ("descent_to_delete", {}, "it needs a strongly convex loss and gradient descent on all data"),
    ],
)
def test_methods(training: sifu.Training, method: Any, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SifuError, match=re.escape(sentence)) as found:
        training.forget([1], method, **settings)
    assert "\n" not in str(found.value)
