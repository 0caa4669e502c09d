"""A variant of the config as a method: its settings, the scenario's certificate, what its search found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sifu.config.certificate import Certificate
from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.plan.method_check import check_method, method_class
from sifu.unlearning.method import CertifiedMethod, Method


def method_of(name: str, variant: Variant, scenario: Scenario, searched: Mapping[str, Any] | None = None) -> Method:
    """The variant's method in a scenario, with the scenario's certificate as the variant changes it.

    `searched` are values of the settings that the variant searches for.
    """
    path = f"variants.{name}"
    changed = to_plain(scenario.certificate) | (variant.certificate or {})
    certificate = build(Certificate, changed, f"{path}.certificate")
    settings = (variant.settings or {}) | dict(searched or {})
    return build_method(variant.method, settings, certificate, f"{path}.settings")


def method_with(name: str, variant: Variant, scenario: Scenario, setting: str, value: float) -> Method:
    """The variant's method with another value of one of its settings."""
    return method_of(name, variant, scenario, {setting: int(value) if float(value).is_integer() else value})


def build_method(name: str, settings: Mapping[str, Any], certificate: Certificate, path: str = "method") -> Method:
    """A method of the catalog with its settings."""
    return with_settings(method_class(name), settings, certificate, path)


def with_settings(cls: type[Method], settings: Mapping[str, Any], certificate: Certificate, path: str) -> Method:
    """A method with its settings; one that promises something gets the certificate, unless its settings have one."""
    promised = {"certificate": to_plain(certificate)} if issubclass(cls, CertifiedMethod) else {}
    return check_method(build(cls, promised | dict(settings), path))
