"""Newton's equation of a linear classifier on given inputs: products with its Hessian, and conjugate gradients.

A classifier has a matrix [S, K, D] with the bias as its last column; inputs [S, n, D] have a 1 there.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]  # H v of v, [S, K, D] both


def with_ones(images: Tensor) -> Tensor:
    """Images [S, n, ...] as inputs of a linear classifier, in float64. [S, n, D]"""
    pixels = images.double().flatten(2)
    return torch.cat([pixels, torch.ones_like(pixels[..., :1])], dim=2)


def as_matrix(layer: SimpleNamespace) -> Tensor:
    """Weight [S, K, D - 1] and bias [S, K] of a linear layer as its matrix, in float64. [S, K, D]"""
    return torch.cat([layer.weight, layer.bias[..., None]], dim=2).double()


def hessian_product(inputs: Tensor, decay: float, matrix: Tensor | None = None) -> Product:
    """v -> (1/n) sum_x J_x^T L_x J_x v + decay v, with J_x v = v x [K] the change of the logits of input x.

    L_x is the Hessian of the loss in the logits: diag(p) - p p^T for cross-entropy, where p are the probabilities that
    `matrix` [S, K, D] gives x; the identity for half the squared error (no matrix). No labels are needed.
    """
    chances = None if matrix is None else torch.softmax(inputs @ matrix.mT, dim=2)  # [S, n, K]

    def product(v: Tensor) -> Tensor:
        change = inputs @ v.mT  # [S, n, K]
        if chances is not None:
            change = chances * (change - (chances * change).sum(2, keepdim=True))
        return change.mT @ inputs / inputs.shape[1] + decay * v

    return product


def conjugate_gradients(product: Product, target: Tensor, tolerance: float = 1e-10, most: int = 2000) -> Tensor:
    """v with H v = `target` [S, K, D], from v = 0; each seed ends where its residual is `tolerance` of the target."""
    v, residual = torch.zeros_like(target), target.clone()
    direction, size = residual, _dot(residual, residual)  # size [S, 1, 1]
    enough = size * tolerance**2
    for _ in range(most):
        going = size > enough
        if not bool(going.any()):
            break
        moved = product(direction)
        step = torch.where(going, size / _dot(direction, moved), 0.0)  # a seed that has ended stays where it is
        v, residual = v + step * direction, residual - step * moved
        last, size = size, torch.where(going, _dot(residual, residual), size)
        direction = torch.where(going, residual + size / last * direction, direction)
    return v


def _dot(one: Tensor, other: Tensor) -> Tensor:
    """Inner products, seed by seed. [S, 1, 1]"""
    return (one * other).sum((1, 2), keepdim=True)
