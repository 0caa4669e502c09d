"""The readable version of the fast code: one seed, one client, one step after another, in ordinary torch.

It shares only the keyed draws with the suite (which clients are sampled, which examples a step uses).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import cross_entropy

from sifu.config.federation import Federation
from sifu.config.optimiser import Adaptive, Svgd, own_sgd
from sifu.core.keys import Keys


def sample_clients(key: Keys, number: int, available: list[int], count: int) -> list[int]:
    """The clients of a round: the available ones with the smallest priority."""
    priority = {client: int(key.fold("cohort", number, client).state) for client in available}
    return sorted(sorted(available, key=priority.__getitem__)[:count])


def client_batches(key: Keys, number: int, client: int, size: int, federation: Federation) -> Tensor:
    """The examples of a client's steps: shuffled once per epoch and read batch by batch, or every time. [K, B]"""
    batch, steps = federation.batch_size, federation.local_steps
    if size <= batch:
        return torch.arange(size).expand(steps, size)

    def shuffled(shuffle: int) -> list[int]:
        draws = key.fold("batches", number, client, shuffle, "draw").each(torch.arange(size)).state
        return sorted(range(size), key=draws.tolist().__getitem__)

    if federation.batches == "fresh":
        return torch.tensor([shuffled(step)[:batch] for step in range(steps)])
    walk = [example for epoch in range(math.ceil(steps * batch / size)) for example in shuffled(epoch)]
    return torch.tensor(walk[: steps * batch]).view(steps, batch)


@contextmanager
def keyed_dropout(key: Keys) -> Iterator[None]:
    """Within: the calls of dropout in one forward pass draw one number after another from `key`."""
    calls = count()

    def dropped(x: Tensor, p: float, training: bool, shape: list[int]) -> Tensor:
        if not training or p == 0:
            return x
        draws = key.fold(next(calls), "draw")
        kept = [int(draws.fold(i).state) >= p * 2**64 - 2**63 for i in range(math.prod(shape))]
        return x * torch.tensor(kept).view(shape) / (1 - p)

    plain: dict[str, Any] = {
        "dropout": lambda x, p, training, inplace=False: dropped(x, p, training, list(x.shape)),
        "dropout2d": lambda x, p, training, inplace=False: dropped(x, p, training, [*x.shape[:2], 1, 1]),
    }

    def normal(x: Tensor) -> Tensor:
        return key.fold("normal", next(calls)).normal(x.numel()).to(x.dtype).view(x.shape)

    with patch.multiple(functional, **plain), patch.object(torch, "randn_like", normal):
        yield


def guided_client(
    module: nn.Module,
    images: Tensor,
    labels: Tensor,
    batches: Tensor,
    optimiser: Adaptive,
    loss: Callable[[Tensor, Tensor, Tensor], Tensor],
    signs: Callable[[int], Tensor],
    dropout: Keys | None = None,
) -> Tensor:
    """A client's training by an adaptive optimiser: one example after another, the whole Hessian. [P]

    `loss`: (logits [B, classes], labels, images) -> [B]; `signs`: step -> the random signs z [P].
    """
    local = copy.deepcopy(module).requires_grad_(True)
    weights = nn.utils.parameters_to_vector(local.parameters()).detach()
    m, v = torch.zeros_like(weights), torch.zeros_like(weights)
    for step, rows in enumerate(batches):
        mask = None if dropout is None else dropout.fold(step)

        def batch_loss(at: Tensor, which: Tensor, key: Keys | None) -> Tensor:
            parts = dict(zip([n for n, _ in local.named_parameters()], _split(at, local), strict=True))
            with nullcontext() if key is None else keyed_dropout(key):
                logits = torch.func.functional_call(local, parts, (images[which],))
            return loss(logits, labels[which], images[which]).mean()

        leaf = weights.clone().requires_grad_()
        gradient = torch.autograd.grad(batch_loss(leaf, rows, mask), leaf)[0]
        curvature = gradient
        if optimiser.curvature == "fisher":
            single = []
            for place, row in enumerate(rows):
                key = None if mask is None else Keys(mask.fold(place).state)
                single.append(torch.autograd.grad(batch_loss(leaf, row[None], key), leaf)[0])
            gradient, curvature = torch.stack(single).mean(0), torch.stack(single).square().mean(0)
        if optimiser.curvature == "hutchinson":
            z = signs(step)
            slope = torch.autograd.grad(batch_loss(leaf, rows, mask), leaf, create_graph=True)[0]
            curvature = z * torch.autograd.grad(slope @ z, leaf)[0]
        m = optimiser.beta1 * m + (1 - optimiser.beta1) * gradient
        v = optimiser.beta2 * v + (1 - optimiser.beta2) * curvature**2
        fair_m, fair_v = m / (1 - optimiser.beta1 ** (step + 1)), v / (1 - optimiser.beta2 ** (step + 1))
        weights = weights - optimiser.lr * fair_m / (fair_v.sqrt() + optimiser.damping)
    return weights


def _split(weights: Tensor, module: nn.Module) -> list[Tensor]:
    """A row of weights as the module's parameters."""
    shapes = [parameter.shape for parameter in module.parameters()]
    return [part.view(shape) for part, shape in zip(weights.split([s.numel() for s in shapes]), shapes, strict=True)]


def train_client(
    module: nn.Module,
    images: Tensor,
    labels: Tensor,
    batches: Tensor,
    federation: Federation,
    dropout: Keys | None = None,
) -> nn.Module:
    """A client's local training, from a copy of the global model; `dropout` is the key of its masks in this round."""
    local = copy.deepcopy(module).requires_grad_(True)
    optimiser = torch.optim.SGD(
        local.parameters(),
        lr=federation.client_lr,
        momentum=federation.momentum,
        weight_decay=federation.weight_decay,
    )
    is_full = batches.shape[1] == len(labels)
    for step, rows in enumerate(batches):
        optimiser.zero_grad()
        x, y = (images, labels) if is_full else (images[rows], labels[rows])
        own: Any = getattr(local, "own_loss", None)
        with nullcontext() if dropout is None else keyed_dropout(dropout.fold(step)):
            loss = cross_entropy(local(x), y) if own is None else own(local(x, seen=True), y).mean()
        loss.backward()
        if federation.clip is not None:
            nn.utils.clip_grad_norm_(local.parameters(), federation.clip)
        if hasattr(local, "own_optimiser"):  # momentum is then on the directions of SVGD
            _steer(local, local.own_optimiser(own_sgd(federation)))  # type: ignore[operator]
        optimiser.step()
    return local


def _steer(module: nn.Module, optimiser: Svgd) -> None:
    """Replace the gradients of a module of particles by SVGD's directions."""
    parameters = list(module.parameters())
    weights = nn.utils.parameters_to_vector(parameters)
    slopes = nn.utils.parameters_to_vector([p.grad for p in parameters if p.grad is not None])
    particles, gradients = (list(row.detach().chunk(optimiser.particles)) for row in (weights, slopes))
    turned = torch.cat(stein_directions(particles, gradients, optimiser))
    for parameter, part in zip(parameters, _split(turned, module), strict=True):
        parameter.grad = part


def stein_directions(particles: list[Tensor], gradients: list[Tensor], optimiser: Svgd) -> list[Tensor]:
    """v_n = sum_j [k(theta_j, theta_n) g_j - alpha grad_{theta_j} k(theta_j, theta_n)], pair by pair."""
    count, alpha, width = len(particles), optimiser.temperature, optimiser.bandwidth
    if width is None:
        squares = sorted(
            float((particles[i] - particles[j]) @ (particles[i] - particles[j])) for i in range(count) for j in range(i)
        )
        width = squares[len(squares) // 2] / math.log(count)
    found = []
    for own in particles:
        direction = torch.zeros_like(own)
        for other, gradient in zip(particles, gradients, strict=True):
            at = other.clone().requires_grad_()
            kernel = torch.exp(-(at - own).square().sum() / width)
            (slope,) = torch.autograd.grad(kernel, at)
            direction += kernel.detach() * gradient - alpha * slope
        found.append(direction)
    return found


def average(models: list[nn.Module], weights: list[float]) -> nn.Module:
    """FedAvg's server step."""
    mean = copy.deepcopy(models[0])
    with torch.no_grad():
        for parts in zip(mean.parameters(), *(model.parameters() for model in models), strict=True):
            parts[0].copy_(sum(weight * part for weight, part in zip(weights, parts[1:], strict=True)))
    return mean


def fedavg_round(
    module: nn.Module,
    images: Tensor,
    labels: Tensor,
    size: list[int],
    batches: dict[int, Tensor],
    federation: Federation,
    dropout: Keys | None = None,
) -> tuple[nn.Module, dict[int, nn.Module]]:
    """One round of one seed on images [C, n, ...]: the new global model, and that of each client in `batches`.

    `dropout` is the key of the round's masks.
    """
    if not batches:
        return module, {}
    keys = {c: None if dropout is None else dropout.fold(c) for c in batches}
    local = {
        c: train_client(module, images[c, : size[c]], labels[c, : size[c]], rows, federation, keys[c])
        for c, rows in batches.items()
    }
    total = sum(size[c] for c in local)
    return average(list(local.values()), [size[c] / total for c in local]), local


def round_batches(
    key: Keys, number: int, size: list[int], available: list[int], federation: Federation
) -> dict[int, Tensor]:
    """The draws of a round: which clients are sampled, and which examples each of their steps uses."""
    cohort = sample_clients(key, number, available, federation.clients_per_round)
    return {c: client_batches(key, number, c, size[c], federation) for c in cohort}


def flat(module: nn.Module) -> Tensor:
    """All weights of a module as one row."""
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def load_flat(module: nn.Module, weights: Tensor) -> nn.Module:
    """A copy of a module with the given weights."""
    copied, start = copy.deepcopy(module), 0
    with torch.no_grad():
        for parameter in copied.parameters():
            parameter.copy_(weights[start : start + parameter.numel()].view_as(parameter))
            start += parameter.numel()
    return copied


def correct_answers(module: nn.Module, images: Tensor, labels: Tensor) -> int:
    with torch.no_grad():
        return sum(int(module(x[None]).argmax() == y) for x, y in zip(images, labels, strict=True))


def private_average(old: Tensor, local: list[Tensor], update_clip: float, expected: int, noise: Tensor) -> Tensor:
    """DP-FedAvg's server step on flat weights: shortened updates over the expected cohort, plus noise."""
    total = torch.zeros_like(old)
    for weights in local:
        update = weights - old
        length = float(update.norm())
        total += update if length <= update_clip else update * (update_clip / length)
    return old + total / expected + noise


def poisson_clients(key: Keys, number: int, available: list[int], expected: int) -> list[int]:
    """Each available client independently, with the same probability."""
    chance = expected / len(available)
    return [client for client in available if float(key.fold("poisson", number, client).uniform(1)) < chance]
