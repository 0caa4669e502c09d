"""What a module must do to be trained by FedAvg here. Whatever is wrong with one is a sentence that says what to use.

    check_module(module, (1, 28, 28), 10, "tiny")

While planning, every model of a run is built once and checked (sifu/plan/model_check.py), before any job starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import UninitializedParameter

from sifu.catalog.lookup import error_words
from sifu.errors import SifuError
from sifu.models.layer_calls import LayerCalls, NoKey

_IMAGES = 3  # of a batch that models are tried on
_CLOSE = 1e-3  # by which answers may differ when images are alone: other kernels round in another order


class Trial(NamedTuple):
    """A module and what it is tried on."""

    module: Any  # an nn.Module, if its first check holds
    shape: tuple[int, ...]  # of an image
    num_classes: int

    @property
    def images(self) -> Tensor:
        """Random images, always the same. [3, *shape]"""
        return torch.randn(_IMAGES, *self.shape, generator=torch.Generator().manual_seed(0))


def check_module(module: Any, shape: tuple[int, ...], num_classes: int, name: str) -> None:
    """Refuse a module that cannot be trained here; `name` is what the sentence calls it."""
    for _, check in CHECKS:
        check_one(check, Trial(module, shape, num_classes), name)


def check_parts(module: nn.Module, name: str) -> None:
    """The checks that need no images: kinds of layers, buffers, weights."""
    for check in (check_layers, check_buffers, check_weights):
        check_one(check, Trial(module, (), 0), name)


def check_one(check: Callable[[Trial], str], trial: Trial, name: str) -> None:
    """Refuse by one check; torch's own generator and the module's mode stay as they are."""
    try:
        with _undisturbed(trial.module):
            problem = check(trial)
    except (Exception, SystemExit) as error:  # of the module itself
        problem = f"fails on images of {tuple(trial.shape)}: {error_words(error)}"
    if problem:
        raise SifuError(f"model {name} {problem}")


def build_module(builder: Any, shape: tuple[int, ...], num_classes: int, name: str) -> nn.Module:
    """What a builder makes; its errors, too, are one sentence."""
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # initial values that a model keeps are the same in every job
            return builder(shape, num_classes)
    except SifuError:
        raise
    except (Exception, SystemExit) as error:
        words = f"it is called with ({tuple(shape)}, {num_classes}), the images' shape and the number of classes"
        raise SifuError(f"model {name} cannot be built: {error_words(error)}; {words}") from error


def check_layers(trial: Trial) -> str:
    """An nn.Module without layers that mix the examples of a batch."""
    if not isinstance(trial.module, nn.Module):
        return f"is {_article(trial.module)}, not a torch.nn.Module"
    for path, part in trial.module.named_modules():
        kind, place = type(part).__name__, f" ({path})" if path else ""
        if isinstance(part, _BatchNorm):
            return (
                f"contains {kind}{place}, which mixes the examples of a batch, and its statistics are no weights that "
                "FedAvg averages: use nn.GroupNorm or nn.LayerNorm"
            )
        if getattr(part, "track_running_stats", False):
            return (
                f"contains {kind}{place} with running statistics, which are no weights that FedAvg averages: "
                "set track_running_stats=False"
            )
    return ""


def check_buffers(trial: Trial) -> str:
    """No state besides the weights."""
    names = [name for name, _ in trial.module.named_buffers()]
    if not names:
        return ""
    return f"has the buffer {names[0]}, which is no weight that FedAvg averages: compute it in `forward` instead"


def check_weights(trial: Trial) -> str:
    """Weights whose sizes are known, and which are real numbers."""
    parameters = dict(trial.module.named_parameters())
    if not parameters:
        return "has no weights (torch.nn.Parameter): there is nothing to train"
    for name, parameter in parameters.items():
        if isinstance(parameter, UninitializedParameter):
            return f"learns the size of {name} from its first batch: give the layer its sizes (no nn.Lazy...)"
        if not parameter.is_floating_point():
            return f"has weights of type {str(parameter.dtype).removeprefix('torch.')} ({name}); use float32"
    return ""


def check_trained(trial: Trial) -> str:
    """All weights are trained, from initial values of the suite."""
    frozen = [name for name, parameter in trial.module.named_parameters() if not parameter.requires_grad]
    if not frozen:
        return ""
    return f"has frozen weights ({frozen[0]}), but every weight is drawn anew and trained here: freeze none"


def check_output(trial: Trial) -> str:
    """From images to one row of logits each."""
    trial.module.eval()
    logits = trial.module(trial.images)
    expected = (_IMAGES, trial.num_classes)
    if not isinstance(logits, Tensor):
        return f"gives {_article(logits)} instead of logits, a tensor of [n, classes]"
    if logits.shape != expected or not logits.is_floating_point():
        kind = "" if logits.is_floating_point() else f" of type {str(logits.dtype).removeprefix('torch.')}"
        return f"gives {list(logits.shape)}{kind} for {_IMAGES} images; it must give logits, {list(expected)}"
    return ""


def check_evaluation(trial: Trial) -> str:
    """In evaluation the same images get the same answers."""
    trial.module.eval()
    first, second = trial.module(trial.images), trial.module(trial.images)
    if torch.equal(first.nan_to_num(), second.nan_to_num()):
        return ""
    return "draws random numbers in evaluation, so its accuracy would be chance: use nn.Dropout, which is off there"


def check_examples(trial: Trial) -> str:
    """An image gets the same answer alone as in a batch, also in training where that can be seen."""
    images = trial.images
    for training in (False, True):
        trial.module.train(training)
        with _WithoutDropout():
            together, again = trial.module(images), trial.module(images)
            alone = torch.cat([trial.module(image[None]) for image in images])
        if not torch.equal(together, again):
            continue  # other draws, which another check refuses
        if not torch.allclose(together, alone, rtol=_CLOSE, atol=_CLOSE * float(together.abs().max())):
            return "mixes the examples of a batch: an image gets another answer alone: use nn.GroupNorm or nn.LayerNorm"
    return ""


def check_draws(trial: Trial) -> str:
    """Whatever is drawn in training has a key: the same key gives the same answers, and torch's generator rests."""
    images, state = trial.images, torch.random.get_rng_state()
    trial.module.train()
    answers = []
    try:
        for _ in range(2):
            with LayerCalls(torch.zeros((), dtype=torch.int64)):
                answers.append(trial.module(images).nan_to_num())
    except NoKey as problem:
        return str(problem)
    same = torch.equal(*answers) and torch.equal(state, torch.random.get_rng_state())
    return "" if same else _HIDDEN_DRAWS


# a function of torch that draws inside, such as attention, does not say so
_HIDDEN_DRAWS = (
    "draws random numbers that have no key, so its training could not be repeated: "
    "use nn.Dropout, and set the dropout inside of attention and recurrent layers to 0"
)


class _WithoutDropout(LayerCalls):
    """A pass in which dropout does nothing: masks differ between images, so they would hide what mixes them."""

    def _dropout(self, func: Any, input: Tensor, *args: Any, **named: Any) -> Tensor:
        return input

    def _normal(self, input: Tensor) -> Tensor:
        return torch.zeros_like(input)


CHECKS: tuple[tuple[str, Callable[[Trial], str]], ...] = (
    ("layers", check_layers),
    ("buffers", check_buffers),
    ("weights", check_weights),
    ("trained", check_trained),
    ("output", check_output),
    ("evaluation", check_evaluation),
    ("draws", check_draws),
    ("examples", check_examples),
)


@contextmanager
def _undisturbed(module: Any) -> Iterator[None]:
    """Without gradients, with a generator of its own, and back in the mode that it was in."""
    training = getattr(module, "training", True)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # not the GPU's, which nothing here would restore
        yield
    if isinstance(module, nn.Module):
        module.train(training)


def _article(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
