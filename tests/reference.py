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


def sensitivity(
    distances: list[dict[int, float]], shares: list[float], contraction: float, steps: int
) -> list[list[float]]:
    """Psi(n, c) for n = 1..T straight from the paper's double sum (equation 6)."""
    rows = []
    for n in range(1, len(distances) + 1):
        row = []
        for c, p in enumerate(shares):
            terms = [
                contraction ** ((n - s - 1) * steps) * p / (1 - p) * distances[s][c]
                for s in range(n)
                if c in distances[s]
            ]
            row.append(sum(terms))
        rows.append(row)
    return rows


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


Update = dict[int, Tensor]  # client -> its update in a round


def fed_accum(start: Tensor, stored: list[Update], size: list[int], remain: list[int]) -> Tensor:
    """FedAccum: the remaining clients' old updates, added up."""
    model = start
    for updates in stored:
        model = model + _mean({c: u for c, u in updates.items() if c in remain}, size, start)
    return model


def fed_eraser(
    start: Tensor,
    stored: list[Update],
    size: list[int],
    remain: list[int],
    calibrate: Callable[[int, int, Tensor], Tensor],
) -> Tensor:
    """FedEraser with one norm per client; `calibrate(round, client, weights)` is a client's short training."""
    model = start
    for number, updates in enumerate(stored):
        step: Update = {}
        for client, update in updates.items():
            if client in remain:
                direction = update if number == 0 else calibrate(number, client, model) - model
                step[client] = direction * (update.norm() / direction.norm())
        model = model + _mean(step, size, start)
    return model


def _mean(updates: Update, size: list[int], like: Tensor) -> Tensor:
    """The mean update, weighted by examples; zero without clients."""
    total = sum(size[client] for client in updates)
    return sum((size[client] / total * update for client, update in updates.items()), torch.zeros_like(like))


def bfgs_product(pairs: list[tuple[Tensor, Tensor]], vector: Tensor) -> Tensor:
    """B v by the recursion of BFGS, pair after pair (s, y) from B = c I:

    B <- B - (B s)(B s)' / (s . B s) + y y' / (y . s), c = (s . y) / (s . s) of the last pair. Where some s . y is not
    positive, c v.
    """
    step, change = pairs[-1]
    scale = (step @ change) / (step @ step)
    if any(step @ change <= 0 for step, change in pairs):
        return scale * vector
    terms: list[tuple[float, Tensor]] = []  # B = scale I + the sum of factor a a'

    def product(of: Tensor) -> Tensor:
        return scale * of + sum((factor * (a @ of) * a for factor, a in terms), torch.zeros_like(of))

    for step, change in pairs:
        moved = product(step)
        terms += [(-1 / float(step @ moved), moved), (1 / float(change @ step), change)]
    return product(vector)


def fed_recover(
    start: Tensor,
    stored: list[tuple[Tensor, dict[int, Tensor]]],
    train: Callable[[int, int, Tensor], Tensor],
    size: list[int],
    exact: list[bool],
    keep: int,
    limit: float,
) -> Tensor:
    """The replay of FedRecover, client by client.

    `stored`: of each round its model and the updates of the remaining clients; `train(round, client, model)` gives a
    client's update; `exact`: in which rounds all train; `keep`: pairs a client; `limit`: of the numbers of an estimate.
    """
    model, pairs = start, dict[int, list[tuple[Tensor, Tensor]]]()
    for number, (old, updates) in enumerate(stored):
        away, found = model - old, dict[int, Tensor]()
        if away.norm() <= 10 * torch.finfo(model.dtype).eps * model.norm():  # nothing but rounding
            away = torch.zeros_like(away)
        for client, update in updates.items():
            known = pairs.setdefault(client, [])
            if exact[number] or not known:
                found[client] = train(number, client, model)
                if away.any():
                    known.append((away, update - found[client]))
                    del known[:-keep]
            else:
                double = [(step.double(), change.double()) for step, change in known]
                guess = update - bfgs_product(double, away.double()).to(update.dtype)
                found[client] = guess if guess.abs().max() <= limit else train(number, client, model)
        total = sum(size[client] for client in found)
        model = model + sum((size[c] / total * u for c, u in found.items()), torch.zeros_like(model))
    return model


def orthogonal(direction: Tensor, rows: Tensor) -> Tensor:
    """`direction` [P] less its least-squares fit by `rows` [R, P], scaled to its length; zero where nothing is left."""
    fit = torch.linalg.lstsq(rows.double().T, direction.double()[:, None], driver="gelsd").solution
    left = direction.double() - rows.double().T @ fit[:, 0]
    small = left.norm() <= 1e-6 * direction.norm()
    return left * 0 if small else left * (direction.double().norm() / left.norm())


def margin(logits: list[float], label: int) -> float:
    """log p / (1 - p) of the right label, by probabilities."""
    exponentials = [math.exp(value) for value in logits]
    p = exponentials[label] / sum(exponentials)
    return math.log(p / (1 - p))


def auc(first: list[float], second: list[float]) -> float:
    """Pairs that are in order, ties counted half."""
    pairs = [(a > b) + (a == b) / 2 for a in first for b in second]
    return sum(pairs) / len(pairs)


def klom(unlearned: list[float], oracles: list[float], drop: bool = False) -> float:
    """KL of two histograms of one point's margins; `drop`: without the largest, as the released codes."""
    worlds = [[min(100.0, max(-100.0, value)) for value in world] for world in (unlearned, oracles)]
    low, high = min(map(min, worlds)), max(map(max, worlds))
    shares = []
    for world in worlds:
        kept = [value for value in world if not (drop and value == high)]
        places = [min(19, int((value - low) / (high - low or 1.0) * 20)) for value in kept]
        shares.append([places.count(place) / len(kept) for place in range(20)])
    return sum(p * math.log(p / max(q, 1e-5)) for p, q in zip(*shares, strict=True) if p > 0)


def neurips_epsilon(unlearned: list[float], oracles: list[float]) -> float:
    """The largest epsilon of one example over thresholds on its margin: models above are called unlearned."""
    largest = 0.0
    for threshold in {*unlearned, *oracles}:
        miss = sum(value <= threshold for value in unlearned) / len(unlearned)
        alarm = sum(value > threshold for value in oracles) / len(oracles)
        if miss == 0 and alarm == 0:
            return math.inf
        if miss == 0 or alarm == 0:
            continue
        for hit, rate in ((0.99 - alarm, miss), (0.99 - miss, alarm)):
            largest = max(largest, math.log(hit / rate) if hit > 0 else 0.0)
    return largest


def cross_fitted(one: list[float], two: list[float], own: list[bool], other: list[bool]) -> list[list[float]]:
    """Log-likelihood ratios of two Gaussians, each model by the fit of the other fold."""

    def gaussian(sample: list[float]) -> tuple[float, float]:
        mean = sum(sample) / len(sample)
        return mean, sum((value - mean) ** 2 for value in sample) / (len(sample) - 1)

    def density(value: float, mean: float, variance: float) -> float:
        return -0.5 * ((value - mean) ** 2 / variance + math.log(variance))

    scores: list[list[float]] = [[], []]
    for place, (world, folds) in enumerate(((one, own), (two, other))):
        for value, fold in zip(world, folds, strict=True):
            fits = [
                gaussian([x for x, f in zip(sample, parts, strict=True) if f != fold])
                for sample, parts in ((one, own), (two, other))
            ]
            scores[place].append(density(value, *fits[0]) - density(value, *fits[1]))
    return scores
