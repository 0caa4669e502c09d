"""Prints a certificate under each preset, next to what really holds."""

from __future__ import annotations

import torch
from rich.console import Console
from rich.table import Table

from sifu.certificate import contraction
from sifu.certificate.gaussian import delta_at, epsilon_at
from sifu.certificate.noise import psi_star
from sifu.certificate.rules import PRESETS, delta_of
from sifu.config.certificate import Certificate
from sifu.config.fields import build
from sifu.errors import ConfigError


def print_certificates(epsilon: float, delta: float, sigma: float, num_clients: int) -> None:
    """Print Psi* of each preset, and the true (epsilon, delta) of a model with exactly that sensitivity."""
    build(Certificate, {"epsilon": epsilon, "delta": delta, "sigma": sigma}, "certify")
    table = Table("preset", "mechanism", "claimed epsilon", "claimed delta", "Psi*", "true delta", "true epsilon")
    for preset, rules in PRESETS.items():
        certificate = Certificate(epsilon=epsilon, delta=delta, sigma=sigma, preset=preset)
        limit, claimed = psi_star(certificate, num_clients), delta_of(certificate, num_clients)
        ratio = torch.tensor([limit / sigma if sigma else 0.0], dtype=torch.float64)
        truth = f"{float(delta_at(epsilon, ratio)):.4g}", f"{float(epsilon_at(claimed, ratio)):.4g}"
        table.add_row(preset, rules.mechanism, f"{epsilon:g}", f"{claimed:g}", f"{limit:.6g}", *truth)
    Console(width=max(110, Console().width)).print(table)
    print(
        "true: for noise sigma on a sensitivity of exactly Psi*; whether Psi bounds the sensitivity is another question"
    )


def print_contraction(beta: float, mu: float, client_lr: float) -> None:
    """Print B of a local step for each kind of loss that these constants allow (paper, equations B1 to B3)."""
    if not 0 <= mu <= beta or beta <= 0 or client_lr <= 0:
        raise ConfigError(
            "--beta, --mu, --client-lr", (beta, mu, client_lr), "0 <= mu <= beta, beta and client-lr above 0"
        )
    kinds = {
        "smooth": lambda: contraction.smooth(beta, client_lr),
        "convex": lambda: contraction.convex(beta, client_lr),
    }
    if mu > 0:
        kinds["strongly convex"] = lambda: contraction.strongly_convex(beta, mu, client_lr)
    for kind, value in kinds.items():
        try:
            print(f"B, {kind}: {value():.6g}")
        except ConfigError as error:
            print(f"B, {kind}: none ({error.allowed})")
