"""The readable version of sensitivities and of methods that replay the past: one client and one round after another."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


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
