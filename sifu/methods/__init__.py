"""Unlearning methods by name, a line each. Read while the Snakefile is parsed: nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sifu.methods.method import Method
from sifu.registry import resolve
from sifu.scenario import Certificate
from sifu.settings import build

METHODS: dict[str, str] = {
    "original": "sifu.methods.original:Original",
    "scratch": "sifu.methods.scratch:Scratch",
    "fine_tuning": "sifu.methods.fine_tuning:FineTuning",
    "exact_rollback": "sifu.methods.exact_rollback:ExactRollback",
    "sifu": "sifu.methods.sifu:Sifu",
    "last": "sifu.methods.last:Last",
    "fed_eraser": "sifu.methods.fed_eraser:FedEraser",
    "fed_accum": "sifu.methods.fed_accum:FedAccum",
    "dp_fedavg": "sifu.methods.dp_fedavg:DpFedAvg",
    "descent_to_delete": "sifu.methods.descent_to_delete:DescentToDelete",
}


def build_method(name: str, settings: Mapping[str, Any], certificate: Certificate, path: str = "method") -> Method:
    """A method with its hyper-parameters; one that has a certificate gets the scenario's."""
    method: Method = build(resolve(METHODS[name]), settings, path)
    return method.with_certificate(certificate)
