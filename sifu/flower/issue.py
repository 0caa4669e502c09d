"""Counts a certificate with the suite's own functions, so that the numbers are the suite's."""

from __future__ import annotations

from collections.abc import Collection

import torch

from sifu.certificate.noise import actual_guarantee
from sifu.certificate.rules import PRESETS, rules_of
from sifu.config.certificate import Certificate
from sifu.flower.answer import Issued
from sifu.flower.checkpoints import Checkpoints
from sifu.flower.history import Node


def covered(certificate: Certificate, clients: Collection[str], forgotten: Collection[str]) -> set[str]:
    """Whom the claim covers: the clients of the request, or all forgotten so far, these included."""
    return set(clients) | set(forgotten) if certificate.covers == "everyone" else set(clients)


def issue(
    checkpoints: Checkpoints,
    certificate: Certificate,
    node: Node,
    clients: Collection[str],
    forgotten: Collection[str],
) -> Issued:
    """The certificate of noise on the model of `node`; `forgotten`: clients of earlier requests."""
    history, rules, strict = checkpoints.history, rules_of(certificate), PRESETS["strict"]
    counted = (checkpoints.factor, checkpoints.longest)
    claimed = covered(certificate, clients, forgotten)
    together = history.psi(clients, strict, *counted)[node]
    alone = max(history.psi({client}, strict, *counted)[node] for client in clients)
    everyone = history.psi({*clients, *forgotten}, strict, *counted)[node]
    sensitivity = torch.tensor([together], dtype=torch.float64)
    noise = torch.tensor([certificate.sigma], dtype=torch.float64)
    epsilon, delta = actual_guarantee(certificate.epsilon, certificate.delta, sensitivity, noise)
    return Issued(
        preset=certificate.preset,
        epsilon=certificate.epsilon,
        delta=certificate.delta,
        sigma=certificate.sigma,
        psi=history.psi(claimed, rules, *counted)[node],
        psi_star=checkpoints.limit,
        covers=1 if rules.sets == "max" else len(claimed),
        strict_psi=together,
        single_psi=alone,
        everyone_psi=everyone,
        actual_epsilon=float(epsilon),
        actual_delta=float(delta),
    )
