"""The commands for code of your own: what other packages bring, and whether a method, metric or model does its duty."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from sifu.catalog.registry import Catalog
from sifu.cli.commands import PLUGINS, Commands
from sifu.cli.key_values import key_values
from sifu.config.known import known
from sifu.errors import ConfigError, SifuError


def add_contract(commands: Commands) -> None:
    commands.add(PLUGINS, "plugins", "List what other installed packages bring.", _plugins)
    text = "Run the tests of every method on yours: a line each, exit code 1 if one fails."
    method = commands.add(PLUGINS, "check-method", text, _check_method)
    method.add_argument("method", help="package.module:Class, or a name of the catalog")
    method.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="values of its settings")
    text = "Build a model and say whether it can be trained here: a line a check, exit code 1 if one fails."
    model = commands.add(PLUGINS, "check-model", text, _check_model)
    model.add_argument("model", help="package.module:builder, or a name of the catalog")
    model.add_argument("--shape", default="1,28,28", help="channels, height and width of images (default: %(default)s)")
    model.add_argument("--classes", type=int, default=10, help="default: %(default)s")
    text = "Run the tests of every metric on yours: a line each, exit code 1 if one fails."
    metric = commands.add(PLUGINS, "check-metric", text, _check_metric)
    metric.add_argument("metric", help="package.module:function, or a name of the catalog")


def _plugins(parsed: argparse.Namespace) -> None:
    from sifu.catalog.entry_points import KINDS, brought

    found = [(kind, *one) for kind in KINDS for one in brought(kind)]
    for kind, name, target, package in found:
        print(f"{kind:<9} {name:<24} {target} ({package})")
    if not found:
        print("no installed package brings anything (docs/plugins.md says how one does)")


def _check_method(parsed: argparse.Namespace) -> int:
    from sifu.catalog.methods import METHODS
    from sifu.plan.variants import build_method

    _refuse_unknown("method", parsed.method, METHODS)
    settings = key_values(parsed.set)
    from sifu.contract.method_checks import CHECKS
    from sifu.contract.report import print_checks, title
    from sifu.contract.world import SCENARIO

    method = build_method(parsed.method, settings, SCENARIO.certificate)
    return print_checks([(title(check), partial(check, method)) for check in CHECKS])


def _check_model(parsed: argparse.Namespace) -> int:
    from sifu.catalog.models import MODELS

    shape = _shape(parsed.shape)
    if parsed.classes < 2:
        raise ConfigError("--classes", parsed.classes, "2 or more")
    _refuse_unknown("model", parsed.model, MODELS)
    from torch.nn import Module

    from sifu.catalog.lookup import resolve
    from sifu.contract.report import print_checks
    from sifu.models.check import CHECKS, Trial, build_module, check_one

    module = build_module(resolve(MODELS[parsed.model].builder), shape, parsed.classes, parsed.model)
    trial = Trial(module, shape, parsed.classes)
    checks = CHECKS if isinstance(module, Module) else CHECKS[:1]  # the others are about a module
    return print_checks([(name, partial(check_one, check, trial, parsed.model)) for name, check in checks])


def _check_metric(parsed: argparse.Namespace) -> int:
    from sifu.catalog.metrics import METRICS

    _refuse_unknown("metric", parsed.metric, METRICS)
    from sifu.catalog.lookup import resolve
    from sifu.contract.metric_checks import CHECKS
    from sifu.contract.report import print_checks, title

    metric = resolve(METRICS[parsed.metric])
    if not callable(metric):
        raise SifuError(f"{parsed.metric} is no metric: name a function that is called with the models of a cell")
    return print_checks([(title(check), partial(check, metric)) for check in CHECKS])


def _refuse_unknown(key: str, name: str, catalog: Catalog[Any]) -> None:
    allowed = known(catalog)
    if not allowed.test(name):
        raise ConfigError(key, name, allowed.text, allowed.hint(name))


def _shape(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ConfigError("--shape", text, "channels, height and width, such as 1,28,28")
    return tuple(int(part) for part in parts)
