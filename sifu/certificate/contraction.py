"""B(f, eta): the factor by which a step of gradient descent scales the distance of two models (paper, B1 to B3)."""

from __future__ import annotations

from sifu.errors import ConfigError


def smooth(beta: float, client_lr: float) -> float:
    """B for beta-smooth losses: 1 + eta beta."""
    return 1 + client_lr * beta


def convex(beta: float, client_lr: float) -> float:
    """B for beta-smooth convex losses: 1, for eta up to 2 / beta."""
    if client_lr > 2 / beta:
        raise ConfigError("client_lr", client_lr, f"at most 2 / beta = {2 / beta:g} for a convex loss")
    return 1.0


def strongly_convex(beta: float, mu: float, client_lr: float) -> float:
    """B for beta-smooth mu-strongly convex losses: 1 - eta beta mu / (beta + mu), for eta up to 2 / (beta + mu)."""
    if client_lr > 2 / (beta + mu):
        raise ConfigError("client_lr", client_lr, f"at most 2 / (beta + mu) = {2 / (beta + mu):g} for this loss")
    return 1 - client_lr * beta * mu / (beta + mu)
