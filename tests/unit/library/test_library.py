"""Training and forgetting in Python: data, models and methods as users have them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import sifu
from sifu.catalog.methods import METHODS
from sifu.config.fields import above, setting
from sifu.core.keys import Keys
from sifu.errors import SifuError
from sifu.methods.sifu import Sifu
from sifu.models.logistic import Logistic
from sifu.plan.code_hash import used_modules
from sifu.unlearning.history import History
from sifu.unlearning.method import Method
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.unit.library.given import CLASSES, FEATURES, QUICK, SIZES, features, trained


def test_import_is_light_and_no_stage_depends_on_the_library() -> None:
    code = "import sys, sifu; sifu.__version__; print(sorted({'torch', 'numpy', 'pandas'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    used = used_modules("sifu.stages.train", "sifu.stages.unlearn", "sifu.stages.verify", "sifu.methods.sifu")
    assert "sifu" in used
    assert not [module for module in used if module.startswith("sifu.library")]
    for name in sifu.__all__:
        assert getattr(sifu, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        sifu.trian  # noqa: B018


def test_images_in_every_form_are_the_same() -> None:
    draws = np.random.default_rng(0)
    pixels = [draws.integers(0, 256, size=(size, 4, 4), dtype=np.uint8) for size in SIZES]
    labels = [np.arange(size) % CLASSES for size in SIZES]
    usual = QUICK | {"mean": 0.5, "std": [0.25]}
    plain = sifu.train(pixels, labels, **usual)
    others = [
        sifu.train([own[:, None] for own in pixels], labels, **usual),
        sifu.train([torch.from_numpy(own) for own in pixels], [torch.from_numpy(own).int() for own in labels], **usual),
        sifu.train([(own.astype(np.float32) / 255 - 0.5) / 0.25 for own in pixels], labels, **QUICK),
        sifu.train([own.reshape(-1, 16) for own in pixels], labels, **usual),
    ]
    for other in others:
        assert torch.equal(other.weights, plain.weights)
    assert plain.inputs(pixels[0]).shape == (SIZES[0], 1, 4, 4)
    unit = sifu.train(pixels, labels, **QUICK, scale="unit").inputs(pixels[0])
    torch.testing.assert_close(unit.flatten(1).norm(dim=1), torch.ones(SIZES[0]))


def test_a_module_answers_as_the_accuracies_say() -> None:
    images, labels = features()
    held_out = np.random.default_rng(5).normal(size=(103, FEATURES))
    answer = trained(test=(held_out, held_out[:, :CLASSES].argmax(1))).forget([1, 3], sigma=0.01)
    for row, seed in enumerate(answer.seeds):
        module = answer.module(seed)
        right = [
            (module(answer.inputs(own)).argmax(1).numpy() == label) for own, label in zip(images, labels, strict=True)
        ]
        on_test = module(answer.inputs(held_out)).argmax(1).numpy() == held_out[:, :CLASSES].argmax(1)
        accuracy = answer.accuracy
        assert accuracy.forget is not None
        assert accuracy.test is not None
        assert accuracy.retain[row] == np.concatenate([right[0], right[2]]).mean()
        assert accuracy.forget[row] == np.concatenate([right[1], right[3]]).mean()
        assert accuracy.test[row] == on_test.mean()
        assert list(answer.state_dict(seed)) == list(module.state_dict())


class Small(nn.Module):
    """A network of the user's own."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(features, 8), nn.LayerNorm(8), nn.Linear(8, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.norm(self.first(x)).relu())


def test_models_of_ones_own() -> None:
    """Of a module only the layers are used: its weights stay, and the federation's are drawn from each seed."""
    module = Small(FEATURES, CLASSES)
    before = {name: values.clone() for name, values in module.state_dict().items()}
    given = trained(model=module)
    built = trained(model=lambda shape, classes: Small(*shape, classes))
    assert torch.equal(given.weights, built.weights)
    assert not torch.equal(given.weights[0], given.weights[1])
    assert all(torch.equal(values, before[name]) for name, values in module.state_dict().items())
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert torch.equal(trained(model=lambda *_: module).weights, given.weights)
    assert all(parameter.requires_grad for parameter in module.parameters()), "also one that a function gives again"
    assert isinstance(given.module(), Small)
    assert set(given.forget(2, "fed_eraser").status) <= {"done", "not_reached"}
    by_name = trained(model="logistic")
    assert torch.equal(by_name.weights, trained(model=Logistic((1, 1, FEATURES), CLASSES)).weights)


class Shifted(Logistic):
    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images).tanh()


def test_a_model_made_of_ours_is_trained_as_it_is() -> None:
    """The fast way for logistic regression is for that alone."""
    shape = 1, 1, FEATURES
    assert not torch.equal(trained(model=Shifted(shape, CLASSES)).weights, trained(model="logistic").weights)


OUTSIDE = """
import torch

from sifu.unlearning.method import Method


def net(shape, classes):
    return torch.nn.Sequential(torch.nn.Linear(shape[0], 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, classes))


class Halve(Method):
    name = "halve"

    def unlearn(self, history, request, server, keys):
        return server.recover(history.current / 2, keys)
"""


def test_models_and_methods_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By "module:name", as in a config."""
    (tmp_path / "library_outside.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    answer = trained(model="library_outside:net").forget([1], "library_outside:Halve")
    assert answer.asked.method.name == "halve"
    assert len(list(answer.module().parameters())) == 4


# kinds of method: with a certificate, a replay, a training of its own, the server's images, the clients to forget
KINDS = ("scratch", "sifu", "fed_accum", "dp_fedavg", "sharded", "fats", "subtract_and_distil", "gradient_ascent")

MODELS = {"bfu": {"model": "variational"}, "forget_svgd": {"model": "particles"}}  # of their own


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=[] if name in KINDS else pytest.mark.long)
        for name in METHODS
        if name not in ("descent_to_delete", "f2l2")
    ],
)
def test_every_method_of_the_catalog(method: str) -> None:
    images, labels = features()
    training = trained(server=(images[3], labels[3]), **MODELS.get(method, {}))
    few = {"shards": 2} if method == "sharded" else {}  # there are not many clients
    answer = training.forget([1], method, **few)
    assert answer.forget([0]).number == 2
    assert torch.equal(training.forget([1], method, **few).weights, answer.weights), "the training stays as it is"
    assert answer.asked.method.name == method
    assert (answer.training is training) == (method not in ("dp_fedavg", "sharded", "fats"))


def test_descent_to_delete() -> None:
    """The strongly convex case can be had, too: images of norm 1, clients of one size, all of them in every round."""
    images, labels = features()
    same = {"images": [own[:6] for own in images], "labels": [own[:6] for own in labels]}
    convex = {"scale": "unit", "local_steps": 1, "weight_decay": 0.2, "client_lr": 1.0, "momentum": 0.0}
    answer = sifu.train(**same, **convex, **QUICK).forget([1], "descent_to_delete")
    assert answer.certificate is not None
    assert (answer.certificate.actual_delta <= answer.certificate.claimed_delta).all()


def test_f2l2() -> None:
    """In the same case, with examples at the server: compared with retraining for as many rounds."""
    images, labels = features()
    same = {"images": [own[:6] for own in images], "labels": [own[:6] for own in labels]}
    convex = {"scale": "unit", "local_steps": 1, "weight_decay": 0.2, "client_lr": 1.0, "momentum": 0.0}
    training = sifu.train(**same, **convex, **QUICK, server=(images[3], labels[3]))
    answer = training.forget([1], "f2l2")
    assert answer.certificate is not None
    assert (answer.certificate.sigma > 0).all()
    assert (answer.certificate.actual_delta <= answer.certificate.claimed_delta * (1 + 1e-9)).all()


def test_an_ensemble_is_not_one_module() -> None:
    answer = trained().forget([1], "sharded", shards=2)
    assert answer.accuracy.retain.shape == (len(answer.seeds),)
    with pytest.raises(SifuError, match="an ensemble of 2 models"):
        answer.module()


class Shrink(Method):
    """Shrink the weights, then train on."""

    name = "shrink"
    factor: float = setting("what the weights are multiplied by", above(0), default=0.5)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> object:
        return server.recover(history.current * self.factor, keys)


def test_methods_of_ones_own() -> None:
    training = trained()
    by_class, ready = training.forget([1], Shrink, factor=0.25), training.forget([1], Shrink(factor=0.25))
    assert torch.equal(by_class.weights, ready.weights)
    assert by_class.certificate is None
    assert "nothing is promised" in repr(by_class)
    with pytest.raises(sifu.SifuError, match=r"factor: 1\.0 is refused; allowed: no settings, as the given"):
        training.forget([1], Shrink(), factor=1.0)
    named, given = (
        training.forget([1], sigma=0.2, epsilon=np.int64(5)),
        training.forget([1], Sifu, sigma=0.2, epsilon=5.0),
    )
    assert torch.equal(named.weights, given.weights)
    assert named.certificate is not None
    assert named.certificate.sigma.tolist() == [0.2, 0.2]
    assert named.certificate.claimed_epsilon.tolist() == [5.0, 5.0]


def test_what_is_printed() -> None:
    training = trained(test=(np.ones((2, FEATURES)), [0, 1]), min_rounds=4)
    answer = training.forget([1]).forget([2, 0])
    title, *lines = repr(training).splitlines()
    assert title == "Federation of 4 clients, trained (means of 2 seeds)"
    assert lines[2] == "  cost         4 rounds, 160 client steps"
    title, status, accuracy, cost, certificate = str(answer).splitlines()
    assert title == "Request 2: clients 0, 2 forgotten by sifu (means of 2 seeds)"
    assert status.startswith("  status       not_reached in ")
    assert re.fullmatch(r"  accuracy     retain .*, forget .*, forgotten .*, test \d\.\d{3}", accuracy)
    assert cost == "  cost         4 rounds, 40 client steps, 25% of the training's"
    assert certificate.startswith(
        "  certificate  claimed epsilon 10, delta 0.01 for each client alone; strictly epsilon "
    )
    assert repr(answer.cost) == "4 rounds, 40 client steps, 25% of the training's (means of 2 seeds)"
    strict = training.forget([1, 2], preset="strict", sigma=3.0)
    assert "for 2 clients together" in repr(strict.certificate)
    private = training.forget([1], "dp_fedavg")
    assert "an accountant finds epsilon " in repr(private)
    alone = trained(seeds=[4])
    assert "means" not in repr(alone)
    assert repr(alone).splitlines()[1] == "  status       not_reached"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("model", ["logistic", Small(FEATURES, CLASSES)], ids=["logistic", "own"])
def test_on_a_gpu(model: str | nn.Module) -> None:
    """The same rounds as on the CPU, but for rounding; going back to a round finds it again."""
    found = {}
    for device in ("cpu", "cuda"):
        held_out = (np.ones((2, FEATURES)), [0, 1])
        training = trained(model=model, test=held_out, device=device, precision="float32", max_rounds=8, min_rounds=8)
        answers = [training.forget([1], name).forget([0]) for name in ("sifu", "fed_eraser", "fed_accum", "dp_fedavg")]
        found[device] = [training.weights, *(answer.weights for answer in answers)]
        assert all(len(answer.accuracy.retain) == 2 for answer in answers)
        assert next(training.module().parameters()).device.type == "cpu"
    torch.testing.assert_close(found["cuda"], found["cpu"], rtol=1e-2, atol=1e-3)
