"""The method that a user names or gives, with its settings and the certificate that it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sifu.config.certificate import Certificate
from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.errors import ConfigError, did_you_mean
from sifu.library.scenario import plain_numbers
from sifu.plan.method_check import check_method, method_class, own_class
from sifu.plan.variants import with_settings
from sifu.unlearning.method import CertifiedMethod, Method

GivenMethod = str | Method | type[Method]


def chosen_method(given: GivenMethod, settings: Mapping[str, Any], scenario: Scenario) -> tuple[Method, Scenario]:
    """The method, and the scenario with the certificate that counts for it.

    `settings` are the method's own, and keys of its certificate (such as sigma).
    """
    if isinstance(given, Method):
        if settings:
            key = next(iter(settings))
            raise ConfigError(key, settings[key], "no settings, as the given method has its own: give its class")
        method = check_method(given)
    else:
        method = _built(_class(given), plain_numbers(settings), scenario)
    counted = method.certificate if isinstance(method, CertifiedMethod) else scenario.certificate
    return method, replace(scenario, certificate=counted)


def _class(given: str | type[Method]) -> type[Method]:
    if not isinstance(given, str):
        return own_class(given)
    build(Variant, {"label": given, "method": given}, "")  # refuses an unknown name
    return method_class(given)


def _built(cls: type[Method], settings: Mapping[str, Any], scenario: Scenario) -> Method:
    """The method with its settings, and with the scenario's certificate as the settings change it."""
    own = [name for name in _names(cls) if name != "certificate"]
    promised = _names(Certificate) if issubclass(cls, CertifiedMethod) else []
    _refuse_unknown(cls, settings, own + promised)
    changed = {key: value for key, value in settings.items() if key not in own}
    certificate = build(Certificate, to_plain(scenario.certificate) | changed, "")
    return with_settings(cls, {key: value for key, value in settings.items() if key in own}, certificate, "")


def _names(cls: type[Any]) -> list[str]:
    return [field.name for field in fields(cls)]


def _refuse_unknown(cls: type[Method], settings: Mapping[str, Any], names: list[str]) -> None:
    for key, value in settings.items():
        if key not in names:
            some = f"only the settings {', '.join(names)}" if names else f"nothing, as {cls.name} has no settings"
            raise ConfigError(key, value, some, did_you_mean(key, names))
