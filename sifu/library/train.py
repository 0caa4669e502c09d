"""`sifu.train`: from arrays, one for each client, to a trained federation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, Never

from sifu.config.federation import Federation, Target
from sifu.config.fields import build
from sifu.config.run import Run
from sifu.errors import ConfigError, did_you_mean
from sifu.federation.engine import Engine
from sifu.hardware.device import choose_device, workers_for
from sifu.library.arrays import Array, ImageFormat, PerChannel
from sifu.library.clients import GivenClients, refuse_lists
from sifu.library.model import Model, flat_model, model_name
from sifu.library.scenario import GivenData, GivenScenario, held, plain_numbers
from sifu.library.setup import Setup
from sifu.library.training import Training

_COHORT, _BATCH = 10, 100  # where none is given; fewer in a small federation, or with small clients


def train(
    images: Sequence[Array],
    labels: Sequence[Array],
    *,
    model: Model = "logistic",
    test: tuple[Array, Array] | None = None,
    server: tuple[Array, Array] | None = None,
    target: float = 0.9,
    min_rounds: int = 50,
    max_rounds: int = 10_000,
    clients_per_round: int | None = None,
    local_steps: int = 10,
    batch_size: int | None = None,
    client_lr: float = 0.01,
    momentum: float = 0.9,
    clip: float | None = None,
    weight_decay: float = 0.0,
    sampling: str = "fixed",
    seeds: Sequence[int] = range(3),
    num_classes: int | None = None,
    mean: PerChannel = 0.0,
    std: PerChannel = 1.0,
    scale: str = "standard",
    device: str = "auto",
    precision: str = "tf32",
    threads: int = 2,
    progress: bool = True,
    **unknown: Never,
) -> Training:
    """Train a federation with FedAvg to a target accuracy, once for each seed.

    `images` and `labels` are lists with an array (NumPy or torch) for each client: images [n, channels, height, width],
    [n, height, width] or features [n, D], and whole numbers [n] from 0 on. Clients may differ in size. Bytes (uint8)
    are divided by 255, floating numbers are taken as they are; then `mean` is taken away and the rest divided by `std`
    (each a number, or one a channel or feature). With `scale="unit"` every image is divided by its norm instead.
    Nothing is estimated from the data: an estimate would remember clients that are forgotten later.

    model              name of the catalog, "module:name", a `torch.nn.Module`, or a function (shape, num_classes) ->
                       module. Weights are drawn from each seed, as in a run of the suite: a module brings only layers.
    test               images and labels of a test set, made like the clients'
    server             images and labels that the server holds itself, for methods that need data there
    target             accuracy on the clients' own data at which training and every recovery end, as a share
    min_rounds         rounds that are done even if the target is reached before
    max_rounds         rounds after which it ends in any case
    clients_per_round  clients sampled in a round; None: 10, or all if there are fewer
    local_steps        SGD steps of a sampled client in a round
    batch_size         examples a step; None: 100, or the size of the smallest client if that is less
    client_lr          step size of the clients; further: `momentum`, `clip` (longest gradient; None: any length),
                       `weight_decay`, `sampling` ("fixed", or "poisson": each client by chance)
    seeds              a training each, on the same data: they differ in initial weights, cohorts, batches and noise
    num_classes        number of classes; None: one more than the largest label
    device             "auto" (a GPU if there is one), "cpu" or "cuda"; `precision` of a GPU: "tf32" or "float32"
    threads            CPU threads of a training; torch itself works with one thread from then on
    progress           whether to show how far it is, on standard error
    """
    _refuse_unknown(unknown)
    refuse_lists(images, labels)
    made = ImageFormat.of(images[0], "the images of client 0", mean, std, scale)
    clients = GivenClients.of(images, labels, test, num_classes, made, server)
    federation = {
        "clients_per_round": min(_COHORT, len(images)) if clients_per_round is None else clients_per_round,
        "local_steps": local_steps,
        "batch_size": min(_BATCH, *clients.sizes) if batch_size is None else batch_size,
        "client_lr": client_lr,
        "momentum": momentum,
        "clip": clip,
        "weight_decay": weight_decay,
        "sampling": sampling,
    }
    stop = {"accuracy": target, "min_rounds": min_rounds, "max_rounds": max_rounds}
    machine = {"device": device, "precision": precision, "threads": threads}
    scenario = GivenScenario(
        dataset=GivenData(scale=scale),
        partition=held(clients.sizes),
        model=model_name(model),
        federation=build(Federation, plain_numbers(federation), ""),
        stop=_stop(plain_numbers(stop)),
        classes=clients.num_classes,
    )
    return Training.of(_setup(model, clients, scenario, _seeds(seeds), plain_numbers(machine), progress))


def _setup(
    model: Model,
    clients: GivenClients,
    scenario: GivenScenario,
    seeds: tuple[int, ...],
    machine: Mapping[str, Any],
    progress: bool,
) -> Setup:
    """The federation, on the device that trains it."""
    flat = flat_model(model, clients.images.shape, clients.num_classes)
    run = build(Run, {"scenarios": [], "variants": [], **machine}, "")  # as a config checks them
    device = choose_device(run.device, run.precision)
    flat.module.to(device)
    data = clients.stacked(len(seeds), device)
    own = clients.stacked_server(len(seeds), device)
    engine = Engine(flat, data, scenario.federation, workers_for(device, run.threads), server_data=own)
    return Setup(engine, scenario, seeds, clients.images, clients.stacked_test(device), progress)


def _stop(values: Mapping[str, Any]) -> Target:
    """When training and recovery end; refusals call the accuracy what the user called it."""
    try:
        return build(Target, values, "")
    except ConfigError as error:
        key = "target" if error.key == "accuracy" else error.key
        raise ConfigError(key, error.value, error.allowed, error.hint) from None


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    try:
        found = tuple(index(seed) for seed in seeds)
    except TypeError:
        found = ()
    if not found or len(set(found)) < len(found) or not all(0 <= seed < 2**63 for seed in found):
        raise ConfigError("seeds", seeds, "different whole numbers from 0 on, such as range(3)")
    return found


def _refuse_unknown(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        names = [known for known in inspect.signature(train).parameters if known != "unknown"]
        raise ConfigError(name, value, "only the settings " + ", ".join(names[2:]), did_you_mean(name, names))
