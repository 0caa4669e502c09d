"""A certificate under each preset, side by side with the truth."""

from __future__ import annotations

import torch
from rich.console import Console
from rich.table import Table

from sifu.certificate.gaussian import delta_at, epsilon_at
from sifu.certificate.noise import psi_star
from sifu.certificate.rules import PRESETS, delta_of
from sifu.scenario import Certificate


def print_certificates(epsilon: float, delta: float, sigma: float, num_clients: int) -> None:
    """Psi* by each rule, and what (epsilon, delta) a model with exactly that sensitivity really has."""
    table = Table("preset", "mechanism", "claimed epsilon", "claimed delta", "Psi*", "true delta", "true epsilon")
    for preset, rules in PRESETS.items():
        certificate = Certificate(epsilon=epsilon, delta=delta, sigma=sigma, preset=preset)
        limit, claimed = psi_star(certificate, num_clients), delta_of(certificate, num_clients)
        ratio = torch.tensor([limit / sigma if sigma else 0.0], dtype=torch.float64)
        truth = f"{float(delta_at(epsilon, ratio)):.4g}", f"{float(epsilon_at(claimed, ratio)):.4g}"
        table.add_row(preset, rules.mechanism, f"{epsilon:g}", f"{claimed:g}", f"{limit:.6g}", *truth)
    Console(width=max(110, Console().width)).print(table)
    print(
        "true: of noise sigma on a sensitivity of exactly Psi*; whether Psi bounds the sensitivity is another question"
    )
